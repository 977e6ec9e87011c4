package mock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

// Options are the options of a Server. The zero value is a server on 127.0.0.1:8080 that answers each request at once.
type Options struct {
	// Listen is the TCP address to listen on; port 0 picks a free one. Default DefaultListen.
	Listen string
	// ListenHTTP3 is the UDP address to serve HTTP/3 on, too, with a certificate of the server's own; "": HTTP/3 is not
	// served.
	ListenHTTP3 string
	// Listener, unless nil, is served in the place of Listen, by goroutines. It can be one of a network in memory.
	Listener net.Listener
	// CPU pins the serving thread to that CPU; nil leaves it to the scheduler. Linux only.
	CPU *int
	// Unanswered is the share of requests, 0 to 1, that never get an answer. Such a request
	// has no effect on resources, and its stream, or its connection of HTTP/1.1, stays open until the client ends it.
	Unanswered float64
	// NotFound is the share of requests, 0 to 1, answered with 404 and without effect. It is
	// drawn independently of Unanswered; a request drawn for both gets no answer.
	NotFound float64
	// Seed makes the draws reproducible: the same seed selects the same requests, in their order of arrival. 0 takes a
	// random seed.
	Seed uint64
	// Latency delays each answer. Resources change when the request arrives.
	Latency time.Duration
	// Stall holds back all answers at the end of each period.
	Stall Stall
	// Capacity is the rate at which the server can answer. It cannot be used with Rules. Latency and Stall are added to
	// its queue.
	Capacity Capacity
	// BodySize is the length in bytes of the body of a GET's 200. 0 means {"status":"ok"},
	// a negative number an empty body. When positive, PUT and PATCH answer 200 with the same
	// body instead of 204.
	BodySize int
	// TrackBodies counts which POST bodies came more than once.
	TrackBodies bool
	// MaxConcurrentStreams is announced to clients and enforced per connection. The default is
	// DefaultMaxConcurrentStreams. It is large because unanswered requests count as long as their streams are open, as
	// on a real server.
	MaxConcurrentStreams int
	// ResetsPerSecond and ResetBurst bound the RST_STREAM frames that a client may send on one
	// connection. The server ends the connection with ENHANCE_YOUR_CALM above that (the defence against CVE-2023-44487).
	// 0 means the session's default, a negative rate no bound.
	ResetsPerSecond, ResetBurst int
	// Rules, unless nil, replace the built-in behaviour. The faults above also apply: Unanswered and NotFound are drawn
	// first, and Latency and Stall are added to a rule's delay. The rules use Seed too.
	Rules *rules.Set
	// Record, unless nil, gets a line of JSON for each complete request (see Recorded). The server writes to it at the
	// end of a turn of its loop. The first error ends the record, and Serve returns it.
	Record io.Writer
}

// Stall is a repeated pause. Every is the period, counted from the start of the server. The server sends no answer in
// the last For of each period. The zero value has no pauses.
type Stall struct {
	For, Every time.Duration
}

// Defaults and bounds of Options.
const (
	DefaultListen               = "127.0.0.1:8080"
	DefaultMaxConcurrentStreams = 1 << 20
	// MaxBodySize bounds Options.BodySize. All connections share one body, but a client with large windows receives many
	// copies of it.
	MaxBodySize = 64 << 20
)

func (o Options) withDefaults() Options {
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.MaxConcurrentStreams = cmp.Or(o.MaxConcurrentStreams, DefaultMaxConcurrentStreams)
	return o
}

func (o Options) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(isRatio(o.Unanswered), "unanswered: %v is not between 0 and 1", o.Unanswered)
	check(isRatio(o.NotFound), "not-found: %v is not between 0 and 1", o.NotFound)
	check(o.Latency >= 0, "latency: %v is negative", o.Latency)
	check(o.Stall.valid(), "stall: %v in every %v: the pause must be shorter than the period", o.Stall.For, o.Stall.Every)
	check(o.Rules == nil || o.Capacity.PerSecond == 0, "capacity: cannot be used with rules")
	if err := o.Capacity.validate(); err != nil {
		errs = append(errs, err)
	}
	check(o.Rules == nil || o.BodySize == 0, "body-size: cannot be used with rules, which define the bodies")
	check(o.BodySize <= MaxBodySize, "body-size: %d is above %d", o.BodySize, MaxBodySize)
	check(o.MaxConcurrentStreams > 0, "max-concurrent-streams: %d is not positive", o.MaxConcurrentStreams)
	check(o.CPU == nil || *o.CPU >= 0, "cpu: must not be negative")
	check(o.ResetBurst >= 0, "reset-burst: %d is negative", o.ResetBurst)
	return errors.Join(errs...)
}

// isRatio returns true if r is between 0 and 1. It returns false for NaN.
func isRatio(r float64) bool { return r >= 0 && r <= 1 }

func (s Stall) valid() bool {
	return s == Stall{} || (s.For > 0 && s.Every > s.For)
}

// ParseRatio reads "3%" or "0.03" as 0.03. The result is between 0 and 1.
func ParseRatio(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	r, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a ratio such as 3%% or 0.03", s)
	}
	if percent {
		r /= 100
	}
	if !isRatio(r) {
		return 0, fmt.Errorf("%q is not between 0%% and 100%%", s)
	}
	return r, nil
}

// ParseStall reads "500ms/10s": a pause of 500 ms in every 10 s.
func ParseStall(s string) (Stall, error) {
	pause, period, found := strings.Cut(s, "/")
	if !found {
		return Stall{}, fmt.Errorf("%q is not PAUSE/PERIOD, such as 500ms/10s", s)
	}
	var st Stall
	var err error
	if st.For, err = time.ParseDuration(pause); err != nil {
		return Stall{}, fmt.Errorf("pause of %q: %w", s, err)
	}
	if st.Every, err = time.ParseDuration(period); err != nil {
		return Stall{}, fmt.Errorf("period of %q: %w", s, err)
	}
	if st == (Stall{}) || !st.valid() {
		return Stall{}, fmt.Errorf("%q: the pause must be positive and shorter than the period", s)
	}
	return st, nil
}
