package conns

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/protocol"
)

// storm is a bench on which anything may happen at any time.
type storm struct {
	*bench
	t      *testing.T
	random *rand.Rand
	// places is how many connections there must be, numbered from first.
	places, first int
	// requests are those without an outcome. opened counts all.
	requests []stormRequest
	opened   uint32
	visited  map[string]int
}

type stormRequest struct {
	token  uint32
	c      *Conn
	stream uint32
}

// TestRandomLifecycles drives connections through random events; see bench.wrong for what must hold after each turn.
// All transitions of the table happen. FuzzLifecycles is the long form.
func TestRandomLifecycles(t *testing.T) {
	visited := map[string]int{}
	for seed := range uint64(400) {
		for e, n := range checkStorm(t, seed) {
			visited[e] += n
		}
	}
	for _, e := range transitions {
		if visited[e.String()] == 0 {
			t.Errorf("%v: never happened", &e)
		}
	}
}

// FuzzLifecycles is TestRandomLifecycles with any seed.
func FuzzLifecycles(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { checkStorm(t, seed) })
}

// checkStorm runs a storm and returns how often each transition happened.
func checkStorm(t *testing.T, seed uint64) map[string]int {
	s := newStorm(t, seed)
	s.cs.Open(0, s.places, 0, s.one(2))
	for range 400 {
		s.pass(s.someTime())
		s.strike()
		s.check()
	}
	s.cs.CloseAll()
	s.places, s.requests = 0, nil
	if s.check(); s.left() > 0 {
		t.Error("a connection has not ended")
	}
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
	return s.visited
}

func newStorm(t *testing.T, seed uint64) *storm {
	s := &storm{t: t, random: rand.New(rand.NewPCG(seed, 1)), visited: map[string]int{}}
	s.places = 1 + s.random.IntN(4)
	s.bench = newBench(t, s.target)
	s.onDone = func(token uint32, o protocol.Outcome) {
		if s.done(token); o.Kind == protocol.Completed {
			s.doneInTurn++
		}
	}
	s.cs.watch = func(e *transition) { s.visited[e.String()]++ }
	return s
}

// one returns true once in n calls, on average.
func (s *storm) one(n int) bool { return s.random.IntN(n) == 0 }

func (s *storm) someTime() time.Duration {
	return time.Duration(s.random.Int64N(int64(20 * time.Millisecond)))
}

func (s *storm) target(t *rv.Target) {
	t.ConnectTimeout, t.Batch, t.MaxConcurrentStreams = 200*time.Millisecond, s.one(2), 1+s.random.IntN(4)
	if t.Protocol = rv.ProtocolH2; s.one(2) {
		t.Protocol, t.HTTP1.NoKeepAlive, t.HTTP1.Pipeline = rv.ProtocolHTTP1, s.one(3), s.random.IntN(3)
	}
	t.Endpoints = t.Endpoints[:1+s.random.IntN(3)]
	t.HTTP2.PingInterval = time.Duration(s.random.IntN(2)) * 60 * time.Millisecond
	t.Connecting = rv.Connecting{
		OnDemand: s.one(3), NoFailover: s.one(4), FailbackInterval: 300 * time.Millisecond,
		MaxRequests:       int64([]int{0, 0, 1, 5}[s.random.IntN(4)]),
		MaxAge:            time.Duration(s.random.IntN(2)) * 70 * time.Millisecond,
		InactivityTimeout: time.Duration(s.random.IntN(2)) * 50 * time.Millisecond,
	}
	if s.one(3) {
		t.Connecting.RampCount, t.Connecting.RampPeriod = 1, 20*time.Millisecond
	}
}

// strike makes some things happen, in the order of a turn.
func (s *storm) strike() {
	s.doneInTurn, s.waiting, s.over, s.fills, s.direct = 0, s.random.IntN(4), s.one(50), s.one(3), s.one(2)
	for range s.random.IntN(3) {
		s.dialSome()
	}
	if s.one(20) {
		s.places, s.first = 1+s.random.IntN(4), s.random.IntN(3)
		s.cs.resize(0, s.places, s.first, s.one(2))
	}
	for range s.random.IntN(3) {
		s.strikePeer()
	}
	s.deliver()
	for _, r := range slices.Clone(s.requests) {
		if s.one(40) && s.done(r.token) {
			r.c.Cancel(r.stream, s.cs.now)
			s.cs.Cancelled(r.c)
		}
	}
	s.cs.Fire()
	s.send()
	s.cs.ConnectFor(0)
}

// dialSome lets an attempt of the dialer end or make a step.
func (s *storm) dialSome() {
	if len(s.attempts) == 0 {
		return
	}
	i := s.random.IntN(len(s.attempts))
	a := s.attempts[i]
	end := func() { s.attempts = slices.Delete(s.attempts, i, i+1) }
	if s.one(2) {
		a.Progress(dial.Connecting)
		if s.one(3) {
			a.Progress(dial.Handshaking)
		}
		if !s.one(4) { // else it tries the next address, or fails
			end()
			a.Connected(&dial.Connection{Protocol: a.Target.Protocol}, nil)
			return
		}
	}
	if s.one(4) {
		end()
		a.Connected(nil, syscall.ECONNREFUSED)
	}
}

// strikePeer lets a peer do something.
func (s *storm) strikePeer() {
	open := slices.DeleteFunc(slices.Clone(s.peers), func(p *peer) bool { return p.closed })
	if len(open) == 0 {
		return
	}
	p := open[s.random.IntN(len(open))]
	isHTTP1 := s.cs.pools[0].Plan.Protocol == rv.ProtocolHTTP1
	switch n := s.random.IntN(40); {
	case n == 0:
		p.ended = true
	case n == 1:
		p.broken = true
	case n == 2:
		p.out = append(p.out, "this is neither a frame nor a status line\r\n\r\n"...)
	case n == 3:
		p.full = !p.full
	case p.pending:
		p.pending = false
	case isHTTP1:
		s.answerHTTP1(p)
	case !p.greeted:
		p.greeted = true
		p.out = h2.AppendSettings(p.out)
	case n == 4:
		p.out = h2.AppendGoAway(p.out, 1<<30, http2.ErrCodeNo, "")
	case n == 5:
		p.out = h2.AppendGoAway(p.out, 0, http2.ErrCodeEnhanceYourCalm, "")
	default:
		s.answerHTTP2(p)
	}
}

func (s *storm) answerHTTP1(p *peer) {
	if c := s.cs.all[p.data]; c.h1 != nil && c.h1.InFlight() > 0 {
		p.out = append(p.out, "HTTP/1.1 200 OK\r\n"...)
		if s.one(5) {
			p.out = append(p.out, "connection: close\r\n"...)
		}
		p.out = append(p.out, "content-length: 0\r\n\r\n"...)
	}
}

func (s *storm) answerHTTP2(p *peer) {
	for _, r := range s.requests {
		switch {
		case r.c.index != p.data || s.one(2):
		case s.one(20):
			p.out = h2.AppendRSTStream(p.out, r.stream, http2.ErrCodeRefusedStream)
			return
		default:
			p.out = h2.AppendHeaders(p.out, r.stream, true, true, []byte{0x88})
			return
		}
	}
}

// done removes a request that has its outcome, and returns whether it was there.
func (s *storm) done(token uint32) bool {
	n := len(s.requests)
	s.requests = slices.DeleteFunc(s.requests, func(r stormRequest) bool { return r.token == token })
	return len(s.requests) < n
}

// send puts requests on connections.
func (s *storm) send() {
	p := s.cs.To(0)
	for range s.random.IntN(4) {
		c := p.Take()
		switch {
		case c == nil:
			return
		case s.one(5):
			p.Offer(c)
			continue
		}
		s.opened++
		buf := []byte(nil)
		if c.h1 != nil {
			buf = append(c.h1.Begin(), "GET / HTTP/1.1\r\nhost: e\r\n\r\n"...)
		} else {
			buf = append(c.h2.Begin(), 0x82, 0x84, 0x86) // GET / http
		}
		stream := c.OpenRequest(buf, s.opened, nil, 0)
		s.requests = append(s.requests, stormRequest{s.opened, c, stream})
		s.cs.Carried(c)
	}
}

// check checks what must hold after each turn.
func (s *storm) check() {
	s.t.Helper()
	s.bench.check(s.t, s.sockets())
	want := make([]int32, s.places)
	for i := range want {
		want[i] = int32(s.first + i)
	}
	if got := s.numbers(); !slices.Equal(got, want) {
		s.t.Errorf("connections %d, want %d", got, want)
	}
	inFlight := 0
	for _, c := range s.cs.all {
		if c.client != nil {
			inFlight += c.inFlight()
		}
	}
	if inFlight != len(s.requests) {
		s.t.Errorf("%d requests are in flight, %d have no outcome", inFlight, len(s.requests))
	}
}
