package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"

	"github.com/h2surge/h2surge/test/harness"
)

// protocol is what a load is spoken in.
type protocol string

const (
	http1 protocol = "HTTP/1.1"
	h2c   protocol = "h2c"
	h2    protocol = "h2" // over TLS, by ALPN
	h3    protocol = "h3" // over QUIC
)

// short is for names of rows.
func (p protocol) short() string {
	if p == http1 {
		return "http1"
	}
	return string(p)
}

// load is the work of one side, as far as a client takes it as flags.
type load struct {
	protocol    protocol
	connections int
	streams     int // requests in flight on a connection
	workers     int // threads of the client; 0: one
	path        string
	noKeepAlive bool
	padding     int // bytes of a request header field "x-pad"; 0: none
	// A fixed rate (0: a closed loop), of h2surge, h2load and ghz, and of h2surge only which connection is used next
	// (empty: Spread).
	perSecond int
	choice    v1alpha1.ConnectionChoice
	// body is a file of the lab with the content of a POST, with these header fields; empty: the request is a GET. Of
	// h2load only.
	body    string
	headers [][2]string
	// failing is the share of requests that the server lets fail.
	failing float64

	// manifest is the LoadTest for work that flags cannot say; of h2surge only.
	manifest func(urls []string, seconds int) string
	// Of Go's own client only.
	maxProcs int
	unread   bool  // responses are neither read nor closed
	bound    int64 // requests at most; 0: no bound but time
}

// inFlight is the greatest number of requests under way at once.
func (l load) inFlight() int64 { return int64(l.connections) * int64(max(1, l.streams)) }

// measured is what one run of a client came to.
type measured struct {
	requests    int64   // answered, by the client's own account
	unanswered  int64   // sent, and not answered within their timeout
	rejected    int64   // of both, what is not a success
	perSecond   float64 // by the client's own account
	cpu         time.Duration
	times       times
	connections int64  // opened; 0: not told
	suite       string // TLS version and suite; empty: cleartext, or not told
	perOp       perOp  // of Go's own client only
	remark      string // what the reader of the figures has to know
}

// times of a request from sending to the end of its response; with a connection a request, from
// the start of connecting. Zero: not told.
type times struct {
	mean, p50, p99, max time.Duration
	connect             time.Duration // mean time of opening a connection
	waiting             time.Duration // mean time from sending to the response's first byte
}

// perOp are the figures of a Go benchmark.
type perOp struct {
	bytes, allocs float64
}

// tool is a program and the Debian package that brings it, or the command that makes it.
type tool struct {
	binary, pkg string
}

// client is a load generator, ours or a peer's.
type client interface {
	name() string
	needs() tool // the zero tool: nothing to install
	// command is without CPUs, which the row decides.
	command(b *lab, s *served, l load, seconds int) (harness.Command, error)
	// parse takes all but cpu from what a finished run printed.
	parse(f harness.Finished) (measured, error)
}

// exited is an error unless the process ended with code 0.
func exited(c client, f harness.Finished) error {
	if f.Code == 0 {
		return nil
	}
	told := cmp.Or(harness.LastLine(f.Stderr), harness.LastLine(f.Stdout))
	return fmt.Errorf("%s: exit code %d: %s", c.name(), f.Code, told)
}
