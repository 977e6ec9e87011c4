package h2

import (
	"cmp"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// Bounds that keep the session's arithmetic in range.
const (
	largestHeaderTable = 16 << 20
	largestStreams     = 1 << 30
)

// Config has the bounds of a session and what it announces. If a field is zero, the session
// uses the default in its comment: of a client, and of a server where it differs.
// Values out of range are replaced by the nearest bound.
type Config struct {
	// HeaderTableSize is SETTINGS_HEADER_TABLE_SIZE for what the session receives,
	// in octets: 4096, at most 16 MiB.
	HeaderTableSize uint32
	// NoHeaderTable announces a table size of 0: the peer indexes nothing.
	NoHeaderTable bool
	// StreamWindow is the receive window of a stream, in octets: 4 MiB, of a server
	// 1 MiB. Windows cost no memory, because the session keeps no data. A server
	// uses at least 65535, which a client may assume before it gets SETTINGS.
	StreamWindow uint32
	// ConnWindow is the receive window of the connection, in octets: 16 MiB, at
	// least 65535.
	ConnWindow uint32
	// MaxFrameSize is the largest frame that the session accepts, in octets: 16384,
	// which is also the minimum.
	MaxFrameSize uint32
	// MaxHeaderListSize bounds a message's header fields, in octets according to RFC
	// 9113 6.5.2: 64 KiB. A client treats a larger response as malformed; a server
	// answers a larger request with status 431. A larger compressed block is a
	// connection error.
	MaxHeaderListSize uint32
	// MaxConcurrentStreams bounds the open streams: 100, of a server 1000. A client
	// also follows the peer's SETTINGS. A server announces the bound, and refuses
	// further streams with REFUSED_STREAM.
	MaxConcurrentStreams int
	// ResetsPerSecond and ResetBurst are a budget. A negative rate means no bound. A
	// client sends at most 30 RST_STREAM(CANCEL) a second, after the first 500:
	// since CVE-2023-44487, servers allow about 33 a second after the first 1000. A
	// server allows 33 resets a second after the first 1000, including those that
	// the client causes by breaking the protocol, and then ends the connection with
	// ENHANCE_YOUR_CALM.
	ResetsPerSecond, ResetBurst int
}

var (
	clientDefaults = Config{StreamWindow: 4 << 20, MaxConcurrentStreams: 100, ResetsPerSecond: 30, ResetBurst: 500}
	serverDefaults = Config{StreamWindow: 1 << 20, MaxConcurrentStreams: 1000, ResetsPerSecond: 33, ResetBurst: 1000}
)

func (c Config) withDefaults(d Config, minStreamWindow uint32) Config {
	table := min(cmp.Or(c.HeaderTableSize, hpack.DefaultTableSize), largestHeaderTable)
	if c.NoHeaderTable {
		table = 0
	}
	return Config{
		HeaderTableSize:      table,
		NoHeaderTable:        c.NoHeaderTable,
		StreamWindow:         min(max(cmp.Or(c.StreamWindow, d.StreamWindow), minStreamWindow), maxWindow),
		ConnWindow:           min(max(cmp.Or(c.ConnWindow, 16<<20), initialWindowSize), maxWindow),
		MaxFrameSize:         min(max(c.MaxFrameSize, minMaxFrameSize), maxMaxFrameSize),
		MaxHeaderListSize:    cmp.Or(c.MaxHeaderListSize, 64<<10),
		MaxConcurrentStreams: min(max(cmp.Or(c.MaxConcurrentStreams, d.MaxConcurrentStreams), 0), largestStreams),
		ResetsPerSecond:      cmp.Or(c.ResetsPerSecond, d.ResetsPerSecond),
		ResetBurst:           max(cmp.Or(c.ResetBurst, d.ResetBurst), 0),
	}
}

// settings returns those of the session's first frame: the ones that differ from
// the protocol's initial values, and the role's own.
func (c Config) settings(client bool) []http2.Setting {
	s := []http2.Setting{
		{ID: http2.SettingInitialWindowSize, Val: c.StreamWindow},
		{ID: http2.SettingMaxHeaderListSize, Val: c.MaxHeaderListSize},
	}
	if c.HeaderTableSize != hpack.DefaultTableSize {
		s = append(s, http2.Setting{ID: http2.SettingHeaderTableSize, Val: c.HeaderTableSize})
	}
	if c.MaxFrameSize != minMaxFrameSize {
		s = append(s, http2.Setting{ID: http2.SettingMaxFrameSize, Val: c.MaxFrameSize})
	}
	if client {
		return append(s, http2.Setting{ID: http2.SettingEnablePush, Val: 0})
	}
	return append(s, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(c.MaxConcurrentStreams)})
}
