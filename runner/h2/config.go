package h2

import "golang.org/x/net/http2"

// Defaults of Config.
const (
	defaultStreamWindow         = 4 << 20
	defaultConnWindow           = 16 << 20
	defaultMaxHeaderListSize    = 64 << 10
	defaultMaxConcurrentStreams = 100
	defaultResetsPerSecond      = 30
	defaultResetBurst           = 500
)

// Bounds that keep the session's arithmetic in range.
const (
	largestHeaderTable = 16 << 20
	largestStreams     = 1 << 19
)

// Config is what a session announces and obeys. The zero value of a field means
// the default in its comment; values out of range are brought into it.
type Config struct {
	// HeaderTableSize is SETTINGS_HEADER_TABLE_SIZE for what we receive, in
	// octets: 4096, at most 16 MiB.
	HeaderTableSize uint32
	// NoHeaderTable announces a table size of zero: the peer indexes nothing.
	NoHeaderTable bool
	// StreamWindow is the receive window of a stream, in octets: 4 MiB. Data is
	// handed on as it comes, so windows cost no memory here.
	StreamWindow uint32
	// ConnWindow is the receive window of the connection, in octets: 16 MiB, at
	// least 65535.
	ConnWindow uint32
	// MaxFrameSize is the largest frame we take, in octets: 16384, which is also
	// the least.
	MaxFrameSize uint32
	// MaxHeaderListSize bounds a message's header fields, in octets as RFC 9113
	// 6.5.2 counts them: 64 KiB. A message above it is malformed to us; a
	// compressed block above it is a connection error.
	MaxHeaderListSize uint32
	// MaxConcurrentStreams is the user's bound on open streams: 100. The peer's
	// SETTINGS may lower it.
	MaxConcurrentStreams int
	// ResetsPerSecond and ResetBurst are the budget of RST_STREAM(CANCEL): 30 a
	// second, 500 at once. Servers since CVE-2023-44487 allow about 33 a second
	// and 1000 at once. A negative rate means no bound.
	ResetsPerSecond, ResetBurst int
}

func (c Config) withDefaults() Config {
	table := min(or(c.HeaderTableSize, http2InitialTable), largestHeaderTable)
	if c.NoHeaderTable {
		table = 0
	}
	return Config{
		HeaderTableSize:      table,
		NoHeaderTable:        c.NoHeaderTable,
		StreamWindow:         min(or(c.StreamWindow, defaultStreamWindow), maxWindow),
		ConnWindow:           min(max(or(c.ConnWindow, defaultConnWindow), initialWindowSize), maxWindow),
		MaxFrameSize:         min(max(c.MaxFrameSize, minMaxFrameSize), maxMaxFrameSize),
		MaxHeaderListSize:    or(c.MaxHeaderListSize, defaultMaxHeaderListSize),
		MaxConcurrentStreams: min(max(or(c.MaxConcurrentStreams, defaultMaxConcurrentStreams), 0), largestStreams),
		ResetsPerSecond:      or(c.ResetsPerSecond, defaultResetsPerSecond),
		ResetBurst:           max(or(c.ResetBurst, defaultResetBurst), 0),
	}
}

// http2InitialTable is the initial SETTINGS_HEADER_TABLE_SIZE (RFC 9113 6.5.2).
const http2InitialTable = 4096

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// settings are those of the session's first frame that differ from the
// protocol's initial values.
func (c Config) settings() []http2.Setting {
	s := []http2.Setting{
		{ID: http2.SettingInitialWindowSize, Val: c.StreamWindow},
		{ID: http2.SettingMaxHeaderListSize, Val: c.MaxHeaderListSize},
	}
	if c.HeaderTableSize != http2InitialTable {
		s = append(s, http2.Setting{ID: http2.SettingHeaderTableSize, Val: c.HeaderTableSize})
	}
	if c.MaxFrameSize != minMaxFrameSize {
		s = append(s, http2.Setting{ID: http2.SettingMaxFrameSize, Val: c.MaxFrameSize})
	}
	return s
}
