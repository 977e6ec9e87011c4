package loop

import (
	"context"
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
	"github.com/h2surge/h2surge/runner/listen"
	"github.com/h2surge/h2surge/runner/slots"
)

// TestLiveness: a worker never waits while it has a request to send and may send it, and what lively.check checks. FuzzLiveness is the
// long form. TestRandomLifecycles of runner/conns checks the connections.
func TestLiveness(t *testing.T) {
	for seed := range uint64(2000) {
		checkLiveness(t, seed)
	}
}

// FuzzLiveness is TestLiveness with any seed.
func FuzzLiveness(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { checkLiveness(t, seed) })
}

// lively is a worker with a random load in front of servers that close connections, refuse and redirect requests. In a storm, anything
// may happen to its connections and endpoints, too.
type lively struct {
	*bench
	random *rand.Rand
	storm  bool
}

// one returns true once in n calls, on average.
func (l *lively) one(n int) bool { return l.random.IntN(n) == 0 }

func checkLiveness(t *testing.T, seed uint64) {
	t.Helper()
	l := &lively{random: rand.New(rand.NewPCG(seed, 2))}
	l.storm = l.one(3)
	p := l.plan()
	l.bench = newBench(t, p, l.reply)
	l.w.cfg.GracefulStop = p.GracefulStop
	l.direct = !l.one(3)
	if l.one(4) {
		l.w.cfg.SleepInterval = 2 * time.Millisecond
	}
	if l.one(4) {
		l.lease(60*time.Millisecond, renewal{at: 90 * time.Millisecond, until: time.Hour})
	}
	if l.one(4) {
		l.change(40*time.Millisecond, 0, true, p.Rates...)
		l.change(70*time.Millisecond, 0, false, p.Rates...)
	}
	if last := p.Targets[len(p.Targets)-1]; last.Connecting.OnDemand && l.one(3) {
		l.unreachable = last.Name
	}
	if l.storm {
		l.bad, l.down, l.attempt = map[int]func(*simConn){}, map[int]bool{}, l.dialerSteps
		l.in(l.someTime(), l.strike)
	}
	asleep := ""
	l.everyTurn = l.check
	l.asleep = func() {
		if asleep == "" {
			asleep = sleepsOn(l.bench)
		}
	}
	if l.run(); asleep != "" {
		t.Errorf("the worker waits although %s", asleep)
	}
	if l.waits > mostTurns {
		t.Errorf("%d turns", l.waits)
	}
	if n := l.sockets(); n > 0 {
		t.Errorf("%d sockets are open", n)
	}
	if t.Failed() {
		t.Fatalf("seed %d", seed)
	}
}

// mostTurns is more than a run of checkLiveness takes, unless turns find nothing to do.
const mostTurns = 20_000

// sleepsOn returns what a worker that waits for events could do, or "".
func sleepsOn(b *bench) string {
	w := b.w
	if w.slots.Paused() || w.run.phase == Done {
		return ""
	}
	for i := range w.targets.Len() {
		name := fmt.Sprint("target ", i)
		if w.requests.Waiting(int32(i)) == 0 {
			continue
		}
		switch {
		case b.hasStream(int32(i)):
			return "a request waits and a connection has a free stream: " + name
		case b.connects(int32(i)):
			return "a request waits and no connection is opened: " + name
		}
	}
	for range w.requests.Reserved() {
		id := w.requests.PopReserved()
		w.requests.Reserve(id)
		if r := w.requests.At(id); w.conns.To(r.Target).TakeFor(r.Instance) != nil {
			return "a request waits and the connection of its instance has a free stream"
		}
	}
	if w.chooser.limit.NextToken() != never {
		return ""
	}
	if w.flow.HasUnpaced(false) {
		return "a step is ready that needs no slot"
	}
	for i := range w.slots.All() {
		if s := &w.slots.All()[i]; s.ClosedLoop() && !s.Exhausted() {
			if why := loopSleepsOn(b, s); why != "" {
				return why
			}
		}
	}
	return ""
}

// loopSleepsOn returns why a closed loop could send a request, or "".
func loopSleepsOn(b *bench, s *slots.Schedule) string {
	w := b.w
	var most int64
	if !s.FillsStreams() {
		most, _ = s.Concurrency(w.clock.now)
	}
	for i := range w.targets.Len() {
		hasStep := w.flow.Waiting(s.Index()).Since(int32(i)) != never || w.flow.CanBegin(s.Index(), int32(i))
		switch {
		case !hasStep:
		case !s.FillsStreams():
			if w.slots.InUse(s, w.requests.InUse()) < most {
				return fmt.Sprintf("%d of %d requests of a closed loop are in flight", w.slots.InUse(s, w.requests.InUse()), most)
			}
		case b.hasStream(int32(i)):
			return fmt.Sprint("a closed loop has a step and a free stream: target ", i)
		}
	}
	return ""
}

// hasStream returns whether a connection to a target can take a request now.
func (b *bench) hasStream(target int32) bool {
	return slices.ContainsFunc(b.conns, func(c *simConn) bool {
		if !c.watching || c.hungUp || c.data >= listen.FirstData {
			return false
		}
		of := b.w.conns.At(c.data)
		return of.Target() == target && of.Free() > 0
	})
}

// connects returns whether the requests that wait for a connection to a target need one that the worker does not open.
func (b *bench) connects(target int32) bool {
	before := len(b.dialled)
	b.w.conns.ConnectFor(target)
	return len(b.dialled) > before
}

func (l *lively) plan() *rv.Plan {
	p := gets(l.rates()...)
	p.Drain = 50 * time.Millisecond
	p.Deadline = 2 * time.Second
	p.Targets = p.Targets[:0]
	for i := range 1 + l.random.IntN(2) {
		p.Targets = append(p.Targets, l.target(fmt.Sprint("t", i)))
		p.Targets[i].Protocol = p.Targets[0].Protocol // one for all
	}
	p.Chains = p.Chains[:0]
	for i := range 1 + l.random.IntN(2) {
		p.Chains = append(p.Chains, l.chain(p, fmt.Sprint("load", i), rv.PhaseLoad))
	}
	for _, phase := range []rv.Phase{rv.PhaseSetup, rv.PhaseTeardown} {
		for i := range l.random.IntN(3) {
			p.Chains = append(p.Chains, l.chain(p, fmt.Sprint(phase, i), phase))
		}
	}
	if l.one(3) {
		p.GracefulStop = 30 * time.Millisecond
	}
	if l.one(5) {
		p.RequestLimit = 300
	}
	return p
}

func (l *lively) rates() (out []rv.Rate) {
	for i := range 1 + l.random.IntN(2) {
		r := rv.Rate{Name: fmt.Sprint("r", i), Duration: 60 * time.Millisecond}
		switch l.random.IntN(4) {
		case 0:
			r.Count, r.Period = 50+l.random.Int64N(1000), time.Second
		case 1:
			r.Count, r.Period, r.ChainsPerSecond = 50+l.random.Int64N(500), time.Second, true
		case 2:
			r.ClosedLoop = true
		default:
			r.ClosedLoop, r.Count = true, 1+l.random.Int64N(10)
		}
		if l.one(4) {
			r.Requests = 1 + l.random.Int64N(20)
		}
		out = append(out, r)
	}
	return out
}

func (l *lively) target(name string) rv.Target {
	t := rv.Target{
		Name: name, Connections: 1 + l.random.IntN(3), MaxConcurrentStreams: 1 + l.random.IntN(4), ConnectTimeout: 30 * time.Millisecond,
		Endpoints: []rv.Endpoint{{Scheme: "http", Authority: name, Address: name + ":80"}}, Batch: l.one(2),
	}
	if !l.one(3) {
		t.Protocol = rv.ProtocolHTTP1
		t.HTTP1.NoKeepAlive, t.HTTP1.Pipeline = l.one(3), l.random.IntN(3)
	}
	if l.storm {
		for i := range l.random.IntN(3) {
			e := fmt.Sprint(name, "-", i)
			t.Endpoints = append(t.Endpoints, rv.Endpoint{Scheme: "http", Authority: e, Address: e + ":80"})
		}
		t.Connecting.NoFailover, t.Connecting.FailbackInterval = l.one(4), 30*time.Millisecond
		t.Connecting.InactivityTimeout = time.Duration(l.random.IntN(2)) * 7 * time.Millisecond
		t.HTTP2.PingInterval = time.Duration(l.random.IntN(2)) * 8 * time.Millisecond
		if l.one(3) {
			t.Connecting.RampCount, t.Connecting.RampPeriod = 1, 3*time.Millisecond
		}
	}
	t.Connecting.OnDemand = l.one(3)
	t.Connecting.PerInstance = t.Connecting.OnDemand && !t.Batch && !t.HTTP1.NoKeepAlive
	t.Connecting.MaxRequests = int64([]int{0, 0, 1, 3}[l.random.IntN(4)])
	if l.one(4) {
		t.Connecting.MaxAge = 10 * time.Millisecond
	}
	return t
}

func (l *lively) chain(p *rv.Plan, name string, phase rv.Phase) rv.Chain {
	c := rv.Chain{Name: name, Weight: 1, Phase: phase, Target: l.random.IntN(len(p.Targets))}
	if phase == rv.PhaseLoad && l.one(4) {
		c.MaxInFlight = 1 + l.random.IntN(4)
	}
	for i := range 1 + l.random.IntN(3) {
		c.Steps = append(c.Steps, step(fmt.Sprintf("%s-%d", name, i), func(s *rv.Step) {
			s.Target, s.Timeout = l.random.IntN(len(p.Targets)), 20*time.Millisecond
			if i == 0 {
				s.Target = c.Target
			}
			s.OnFailure = rv.OnFailure{Retries: l.random.IntN(2), Backoff: time.Duration(l.random.IntN(2)) * 2 * time.Millisecond, Continue: l.one(2)}
			s.MaxRedirects = l.random.IntN(3)
			if l.one(3) {
				s.Think = &rv.Think{Min: 2 * time.Millisecond, Max: 2 * time.Millisecond}
			}
		}))
	}
	return c
}

func (l *lively) reply(*simRequest) reply {
	r := reply{After: time.Duration(l.random.IntN(4)) * time.Millisecond, Status: 200}
	switch l.random.IntN(24) {
	case 0:
		r.Status = 0
	case 1:
		r.HangUp = true
	case 2, 3:
		r.Announces = true
	case 4:
		r.Status = 503
	case 5, 6:
		r.Status, r.Headers = 307, []string{"location", "/other"}
	case 7:
		if l.protocol != rv.ProtocolHTTP1 {
			r.Status, r.Goaway = 0, true
		}
	case 8:
		if l.protocol != rv.ProtocolHTTP1 {
			r.Status, r.Resets, r.Reset = 0, true, []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeRefusedStream}[l.random.IntN(2)]
		}
	case 9:
		r.Body, r.BodyAfter = []byte("body"), 2*time.Millisecond
	}
	return r
}

func (l *lively) someTime() time.Duration {
	return time.Duration(l.random.Int64N(int64(10 * time.Millisecond)))
}

// dialerSteps resolves a name and tries one or more of its addresses; TLS shakes hands with some.
func (l *lively) dialerSteps() attempt {
	var a attempt
	for {
		if a.after = l.someTime() / 8; l.one(8) {
			a.err = context.DeadlineExceeded
			return a
		}
		if n := len(a.steps); n == 0 || l.one(4) {
			a.steps = append(a.steps, attemptStep{a.after, dial.Connecting})
		} else if a.steps[n-1].step == dial.Connecting && l.one(2) {
			a.steps = append(a.steps, attemptStep{a.after, dial.Handshaking})
		} else {
			return a
		}
	}
}

// strike makes something happen to a connection, an endpoint or the worker's share, again and again. Everything
// is well at the end, so that the worker can become ready.
func (l *lively) strike() {
	if l.clock > int64(time.Second) {
		l.bad, l.down, l.mute, l.hangs = map[int]func(*simConn){}, map[int]bool{}, false, false
		return
	}
	l.in(l.someTime(), l.strike)
	endpoint := l.random.IntN(len(l.endpoints))
	switch l.random.IntN(8) {
	case 0:
		l.down[endpoint] = !l.down[endpoint]
	case 1:
		l.mute = !l.mute
	case 2:
		delete(l.bad, endpoint)
	case 3:
		l.bad[endpoint] = behaviours()[l.random.IntN(len(behaviours()))].greet
	case 4:
		places := 1 + l.random.IntN(4)
		l.w.Do(func(w *Worker) {
			if w.run.phase != Done {
				share := w.cfg.Share
				share.Connections = slices.Clone(share.Connections)
				share.Connections[0] = places
				w.conns.Resize(&w.targets, &share, true)
			}
		})
	case 5:
		l.hangs = !l.hangs
	default:
		l.strikeConn()
	}
}

func (l *lively) strikeConn() {
	if len(l.conns) == 0 {
		return
	}
	c := l.conns[len(l.conns)-1-l.random.IntN(min(4, len(l.conns)))]
	if c.Closed || c.pending {
		return
	}
	switch fr := c.Framer(); l.random.IntN(5) {
	case 0:
		c.Closed = true
	case 1:
		c.broken = syscall.ECONNRESET
	case 2:
		c.Out.WriteString("this is neither a frame nor a status line\r\n")
	case 3, 4:
		if !c.HTTP1 {
			_ = fr.WriteGoAway(0, []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeEnhanceYourCalm}[l.random.IntN(2)], nil)
		}
	}
}

// check compares the counters with the requests in flight, after each turn.
func (l *lively) check() {
	owed := int64(0)
	for id := range book.ID(l.w.requests.Len()) {
		r := l.w.requests.At(id)
		if (r.InFlight || r.Retried) && r.Stage >= 0 {
			owed++
		}
		if r.InFlight && !l.isOpen(r.Conn) {
			l.t.Error("a request is in flight on a connection without a socket")
		}
	}
	for i := range l.w.rec.Steps {
		s := &l.w.rec.Steps[i]
		owed -= s.Sent - s.Done - s.TimedOut - s.Reset - s.ConnectionLost
	}
	if owed != 0 {
		l.t.Errorf("%d more requests are in flight than the counts say", owed)
	}
}
