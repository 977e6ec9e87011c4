package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/dial"
)

// storm is a worker on a network where anything may happen at any time.
type storm struct {
	*bench
	random *rand.Rand
	http1  bool
}

// TestRandomLifecycles drives a worker through random events of its connections; see storm.check for what must hold.
// FuzzLifecycles is the long form. The test of the same name of runner/conns checks the connections.
func TestRandomLifecycles(t *testing.T) {
	for seed := range uint64(100) {
		checkStorm(t, seed)
	}
}

// FuzzLifecycles is TestRandomLifecycles with any seed.
func FuzzLifecycles(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { checkStorm(t, seed) })
}

func checkStorm(t *testing.T, seed uint64) {
	s := newStorm(t, seed)
	if s.run(); t.Failed() {
		t.Fatalf("seed %d", seed)
	}
}

func newStorm(t *testing.T, seed uint64) *storm {
	s := &storm{random: rand.New(rand.NewPCG(seed, 1))}
	p := gets(s.rates()...)
	s.plan(p)
	s.bench = newBench(t, p, s.reply)
	s.direct = s.random.IntN(2) == 0
	s.bad, s.down = map[int]func(*simConn){}, map[int]bool{}
	s.everyTurn, s.attempt = s.check, s.dialerSteps
	s.in(s.someTime(), s.strike)
	return s
}

// rates end in time, whatever happens: paced ones by their duration, others too.
func (s *storm) rates() []rv.Rate {
	paced := perSecond(int64(50+s.random.IntN(300)), 2*time.Second)
	fast := rv.Rate{Name: "fast", ClosedLoop: true, Duration: 300 * time.Millisecond}
	return [][]rv.Rate{{paced}, {fast}, {paced, fast}, {fast, paced}}[s.random.IntN(4)]
}

func (s *storm) plan(p *rv.Plan) {
	s.http1 = s.random.IntN(2) == 0
	target := &p.Targets[0]
	target.Connections, target.MaxConcurrentStreams = 1+s.random.IntN(4), 1+s.random.IntN(4)
	target.ConnectTimeout = 200 * time.Millisecond
	for i := range s.random.IntN(3) {
		target.Endpoints = append(target.Endpoints, rv.Endpoint{Scheme: "http", Authority: fmt.Sprint("e", i), Address: fmt.Sprintf("e%d:80", i)})
	}
	if s.http1 {
		target.Protocol = rv.ProtocolHTTP1
		target.HTTP1.NoKeepAlive = s.random.IntN(3) == 0
		target.HTTP1.Pipeline = s.random.IntN(3)
	}
	how := &target.Connecting
	how.OnDemand = s.random.IntN(3) == 0
	how.NoFailover = s.random.IntN(4) == 0
	how.FailbackInterval = 300 * time.Millisecond
	how.MaxRequests = int64([]int{0, 0, 1, 5}[s.random.IntN(4)])
	how.MaxAge = time.Duration(s.random.IntN(2)) * 70 * time.Millisecond
	how.InactivityTimeout = time.Duration(s.random.IntN(2)) * 50 * time.Millisecond
	target.HTTP2.PingInterval = time.Duration(s.random.IntN(2)) * 60 * time.Millisecond
	if s.random.IntN(3) == 0 {
		how.RampCount, how.RampPeriod = 1, 20*time.Millisecond
	}
	target.Batch = s.random.IntN(2) == 0
	how.PerInstance = how.OnDemand && !target.Batch && !target.HTTP1.NoKeepAlive
	p.Chains[0].Steps[0].Timeout, p.Drain = 100*time.Millisecond, 100*time.Millisecond
	p.Deadline = 4 * time.Second
}

func (s *storm) someTime() time.Duration {
	return time.Duration(s.random.Int64N(int64(40 * time.Millisecond)))
}

// dialerSteps resolves a name and tries one or more of its addresses; TLS shakes hands with some.
func (s *storm) dialerSteps() attempt {
	var a attempt
	for {
		if a.after = s.someTime() / 8; s.random.IntN(8) == 0 {
			a.err = context.DeadlineExceeded
			return a
		}
		if n := len(a.steps); n == 0 || s.random.IntN(4) == 0 {
			a.steps = append(a.steps, attemptStep{a.after, dial.Connecting})
		} else if a.steps[n-1].step == dial.Connecting && s.random.IntN(2) == 0 {
			a.steps = append(a.steps, attemptStep{a.after, dial.Handshaking})
		} else {
			return a
		}
	}
}

func (s *storm) reply(*simRequest) reply {
	r := reply{After: s.someTime() / 8, Status: 200}
	switch s.random.IntN(20) {
	case 0:
		r.Status = 0
	case 1:
		r.HangUp = true
	case 2:
		r.Status, r.Goaway = 0, true
	case 3:
		r.Status, r.Resets, r.Reset = 0, true, http2.ErrCodeRefusedStream
	case 4, 5:
		r.Announces = true
		r.Body, r.BodyAfter = []byte("body"), s.someTime()
	}
	return r
}

// strike makes something happen to a connection, an endpoint or the worker's share, again and again. Everything
// is well at the end, so that the worker can become ready.
func (s *storm) strike() {
	if s.clock > int64(10*time.Second) {
		s.bad, s.down, s.mute, s.hangs = map[int]func(*simConn){}, map[int]bool{}, false, false
		return
	}
	s.in(s.someTime(), s.strike)
	endpoint := s.random.IntN(len(s.endpoints))
	switch s.random.IntN(8) {
	case 7:
		s.hangs = !s.hangs
	case 0:
		s.down[endpoint] = !s.down[endpoint]
	case 1:
		s.mute = !s.mute
	case 2:
		delete(s.bad, endpoint)
	case 3:
		s.bad[endpoint] = behaviours()[s.random.IntN(len(behaviours()))].greet
	case 4:
		places := 1 + s.random.IntN(4)
		s.w.Do(func(w *Worker) {
			if w.run.phase != Done {
				w.conns.Resize(0, places, 0, true)
			}
		})
	default:
		s.strikeConn()
	}
}

func (s *storm) strikeConn() {
	if len(s.conns) == 0 {
		return
	}
	c := s.conns[len(s.conns)-1-s.random.IntN(min(4, len(s.conns)))]
	if c.Closed || c.pending {
		return
	}
	fr := http2.NewFramer(&c.Out, nil)
	switch s.random.IntN(5) {
	case 0:
		c.Closed = true
	case 1:
		c.broken = syscall.ECONNRESET
	case 2:
		c.Out.WriteString("this is neither a frame nor a status line\r\n")
	case 3:
		if !c.HTTP1 {
			_ = fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		}
	case 4:
		if !c.HTTP1 {
			_ = fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil)
		}
	}
}

// check compares the counters with the requests in flight, after each turn.
func (s *storm) check() {
	owed := int64(0)
	for id := range book.ID(s.w.requests.Len()) {
		r := s.w.requests.At(id)
		if r.InFlight || r.Retried {
			owed++
		}
		if r.InFlight && !s.isOpen(r.Conn) {
			s.t.Error("a request is in flight on a connection without a socket")
		}
	}
	if n := &s.w.rec.Steps[0]; n.Sent != n.Done+n.TimedOut+n.Reset+n.ConnectionLost+owed {
		s.t.Errorf("%d sent, %d done, %d timed out, %d reset, %d lost, %d in flight", n.Sent, n.Done, n.TimedOut, n.Reset, n.ConnectionLost, owed)
	}
}

func (s *storm) run() {
	s.bench.run() // which checks the counting law
	s.check()
	if n := s.sockets(); n > 0 {
		s.t.Errorf("%d sockets are open", n)
	}
	if n := s.w.requests.InUse(); n > 0 && !s.w.run.endedByDeadline {
		s.t.Errorf("%d requests have no outcome", n)
	}
}

// behaviour is what a server does instead of greeting.
type behaviour struct {
	name string
	// http1: it can be done to HTTP/1.1, too.
	http1 bool
	greet func(*simConn)
}

func behaviours() []behaviour {
	return []behaviour{
		{"accepts and closes", true, func(c *simConn) { c.Closed = true }},
		{"accepts and resets", true, func(c *simConn) { c.broken = errors.Join(syscall.ECONNRESET) }},
		{"sends garbage", true, func(c *simConn) { c.Out.WriteString("this is neither a frame nor a status line\r\n\r\n") }},
		{"speaks HTTP/1.1", false, func(c *simConn) { c.Out.WriteString("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n") }},
		{"says nothing", true, func(*simConn) {}},
		{"sends GOAWAY first", false, func(c *simConn) {
			fr := http2.NewFramer(&c.Out, nil)
			_ = fr.WriteSettings()
			_ = fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil)
		}},
		{"greets and closes", false, func(c *simConn) {
			_ = http2.NewFramer(&c.Out, nil).WriteSettings()
			c.Closed = true
		}},
	}
}

// failover is a run against several endpoints of which only the last is good.
func failover(t *testing.T, n int, protocol rv.Protocol, spoil func(b *bench, bad []int)) (*bench, *rvTotals) {
	p := gets(perSecond(100, 10*time.Second))
	p.Targets[0].Protocol = protocol
	p.Targets[0].ConnectTimeout = 300 * time.Millisecond
	p.Targets[0].Connecting.FailbackInterval = time.Hour
	p.Chains[0].Steps[0].Timeout, p.Drain = 200*time.Millisecond, 200*time.Millisecond
	p.Targets[0].Connections = n // one at home with each
	var bad []int
	for i := 1; i < n; i++ {
		bad = append(bad, i-1)
		p.Targets[0].Endpoints = append(p.Targets[0].Endpoints, rv.Endpoint{Scheme: "http", Authority: fmt.Sprint("e", i), Address: fmt.Sprintf("e%d:80", i)})
	}
	b := newBench(t, p, ok(time.Millisecond))
	b.bad, b.down = map[int]func(*simConn){}, map[int]bool{}
	spoil(b, bad)
	return b, b.run()
}

// TestFailover: a connection leaves an endpoint whatever is wrong with it, at the start and in mid-run, and stays
// with one that works.
func TestFailover(t *testing.T) {
	for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
		for _, n := range []int{2, 3, 5} {
			for _, how := range append(behaviours(), behaviour{name: "refuses", http1: true}) {
				if protocol == rv.ProtocolHTTP1 && !how.http1 {
					continue
				}
				for _, start := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%d/%s/start=%v", protocol, n, how.name, start), func(t *testing.T) {
						checkFailover(t, n, protocol, how, start)
					})
				}
			}
		}
	}
}

func checkFailover(t *testing.T, n int, protocol rv.Protocol, how behaviour, start bool) {
	b, got := failover(t, n, protocol, func(b *bench, bad []int) {
		spoil := func() {
			for _, i := range bad {
				if b.down[i] = how.greet == nil; how.greet != nil {
					b.bad[i] = how.greet
				}
			}
			for _, c := range b.conns {
				c.Closed = c.Closed || slices.Contains(bad, c.endpoint)
			}
		}
		if start {
			spoil()
		} else {
			b.in(3*time.Second, spoil)
		}
	})
	late := 0
	for _, r := range b.served {
		if r.At > time.Duration(b.startAt)+7*time.Second && b.conns[r.Conn].endpoint != n-1 {
			late++
		}
	}
	if late > 0 {
		t.Errorf("%d requests went to a bad endpoint in the last seconds", late)
	}
	// What was given to a bad endpoint is lost or times out; a connection visits each once.
	if got.Done < 1000-int64(20*n*n) {
		t.Errorf("got %+v", got)
	}
}
