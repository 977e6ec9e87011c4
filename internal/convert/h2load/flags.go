package h2load

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/h2surge/h2surge/internal/convert"
)

// known are h2load's flags, of 1.71 and those that older ones had.
var known = []convert.Flag{
	{Long: "requests", Short: 'n', Value: true},
	{Long: "clients", Short: 'c', Value: true},
	{Long: "threads", Short: 't', Value: true},
	{Long: "input-file", Short: 'i', Value: true},
	{Long: "max-concurrent-streams", Short: 'm', Value: true},
	{Long: "max-frame-size", Short: 'f', Value: true},
	{Long: "window-bits", Short: 'w', Value: true},
	{Long: "connection-window-bits", Short: 'W', Value: true},
	{Long: "header", Short: 'H', Value: true},
	{Long: "ciphers", Value: true},
	{Long: "tls13-ciphers", Value: true},
	{Long: "groups", Value: true},
	{Long: "no-tls-proto", Short: 'p', Value: true},
	{Long: "data", Short: 'd', Value: true},
	{Long: "rate", Short: 'r', Value: true},
	{Long: "rate-period", Value: true},
	{Long: "duration", Short: 'D', Value: true},
	{Long: "warm-up-time", Value: true},
	{Long: "connection-active-timeout", Short: 'T', Value: true},
	{Long: "connection-inactivity-timeout", Short: 'N', Value: true},
	{Long: "timing-script-file", Value: true},
	{Long: "base-uri", Short: 'B', Value: true},
	{Long: "npn-list", Value: true},
	{Long: "alpn-list", Value: true},
	{Long: "h1"},
	{Long: "h3"},
	{Long: "header-table-size", Value: true},
	{Long: "encoder-header-table-size", Value: true},
	{Long: "log-file", Value: true},
	{Long: "qlog-file-base", Value: true},
	{Long: "connect-to", Value: true},
	{Long: "rps", Value: true},
	{Long: "no-udp-gso"},
	{Long: "max-udp-payload-size", Value: true},
	{Long: "ktls"},
	{Long: "sni", Value: true},
	{Long: "histogram"},
	{Long: "tls-session-file", Value: true},
	{Long: "output-file", Value: true},
	{Long: "verbose", Short: 'v'},
	{Long: "version"},
	{Long: "help", Short: 'h'},
}

// without has the flags that have no equivalent, with the reason.
var without = map[string]string{
	"--log-file":             "no line is written for each request; h2surge run --output-file saves the figures",
	"--qlog-file-base":       "there is no QUIC",
	"--no-udp-gso":           "there is no QUIC",
	"--max-udp-payload-size": "there is no QUIC",
	"--ktls":                 "TLS is done in the process",
	"--histogram":            "is a flag of h2surge run",
	"--output-file":          "h2surge run --output-file saves the figures",
	"--verbose":              "nothing is shown of single requests",
	"--version":              "asks for nothing to be run",
	"--help":                 "asks for nothing to be run",
	"--tls13-ciphers":        "suites of TLS 1.3 cannot be chosen",
	"--tls-session-file":     "sessions are not kept in a file; tls.sessionResumption of the target resumes those of the test itself",
}

// flags are what was given.
type flags struct {
	convert.FlagValues
	draft *convert.Draft
}

// whole is a number of at least 0.
func (f *flags) whole(name string, absent int64) int64 {
	text, has := f.Last[name]
	if !has {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		f.draft.Fail(name, "must be a whole number, not negative")
		return absent
	}
	return n
}

func (f *flags) small(name string, absent int64) int32 {
	return int32(min(f.whole(name, absent), math.MaxInt32))
}

// size is a number with an optional unit of K, M or G.
func (f *flags) size(name string) *int32 {
	text, has := f.Last[name]
	if !has {
		return nil
	}
	shift := 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMG", text[n-1]&^0x20); i >= 0 {
			text, shift = text[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || n > math.MaxInt32>>shift {
		f.draft.Fail(name, "must be a number of octets such as 16384 or 16K, below 2G")
		return nil
	}
	v := int32(n) << shift
	return &v
}

// span is a duration; a number alone is seconds.
func (f *flags) span(name string) time.Duration {
	text, has := f.Last[name]
	if !has {
		return 0
	}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		f.draft.Fail(name, "must be a duration such as 10s, 500ms or 2m")
		return 0
	}
	return d
}

func (f *flags) window(name string) *int32 {
	if !f.Has(name) {
		return nil
	}
	n, ok := convert.Window(f.whole(name, 0))
	if !ok {
		f.draft.Fail(name, "must be 1 to 30")
		return nil
	}
	return &n
}

// decimal is a number of requests a second.
func (f *flags) decimal(name string) float64 {
	text, has := f.Last[name]
	if !has {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > 1e8 {
		f.draft.Fail(name, "must be a number above 0, at most %g", 1e8)
		return 0
	}
	return n
}
