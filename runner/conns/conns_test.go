package conns

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/protocol"
)

// bench is a Net whose sockets take all octets and return none, a Dialer, and a Demand.
type bench struct {
	netio.Net
	protocol.Handler
	cs *Connections
	// attempts are those without an outcome. log has where they go, and the transitions.
	attempts []netio.Attempt
	log      []string
	// closed are the sockets that were closed.
	closed  map[int]bool
	sockets int
	waiting int
	over    bool
}

func newBench(t *testing.T, change func(*rv.Target)) *bench {
	t.Helper()
	b := &bench{closed: map[int]bool{}}
	to := &rv.Target{Name: "t", Protocol: rv.ProtocolHTTP1, ConnectTimeout: time.Second}
	for i := range 3 {
		to.Endpoints = append(to.Endpoints, rv.Endpoint{Scheme: "http", Authority: fmt.Sprint("e", i), Address: fmt.Sprintf("e%d:80", i)})
	}
	if change != nil {
		change(to)
	}
	g, err := chain.Load(&rv.Plan{Targets: []rv.Target{*to}, Rates: []rv.Rate{{Name: "r", Count: 1, Period: time.Second, Duration: time.Second}}, Chains: []rv.Chain{{
		Name: "c", Weight: 1, Steps: []rv.Step{{Name: "get", Method: "GET", Path: rv.Text{{Literal: "/"}}, Timeout: time.Second}},
	}}}, chain.Resources{})
	if err != nil {
		t.Fatal(err)
	}
	target := NewTarget(g, to, 0)
	b.cs = New(Config{
		Net: b, Dialer: b, Recorder: measure.New(measure.Shape{Targets: 1}), Demand: b, Handler: b,
		Do: func(f func()) bool { f(); return true }, Late: func() bool { return false }, SkipWait: func() {},
		Log: slog.New(slog.DiscardHandler),
	}, []*Target{&target})
	b.cs.Watch = func(e *Transition) { b.log = append(b.log, e.String()) }
	b.cs.Begin(1)
	return b
}

func (b *bench) Over() bool        { return b.over }
func (*bench) FillsStreams() bool  { return false }
func (b *bench) Waiting(int32) int { return b.waiting }
func (*bench) DoneInTurn() int     { return 0 }

func (b *bench) Now() int64 { return b.cs.now }

func (b *bench) Connect(string, bool) (*dial.Connection, bool, error) { return nil, false, nil }

func (b *bench) Adopt(*dial.Connection, int32) (int, error) {
	b.sockets++
	return b.sockets, nil
}

func (*bench) Send(_ int, p []byte) (int, netio.Status) { return len(p), netio.OK }
func (*bench) Interest(int, int32, bool) error          { return nil }
func (b *bench) Close(fd int)                           { b.closed[fd] = true }

func (b *bench) Dial(a netio.Attempt) { b.attempts = append(b.attempts, a) }

// dialled ends all attempts, and returns where they went.
func (b *bench) dialled(err error) (to []int) {
	attempts := b.attempts
	b.attempts = nil
	for _, a := range attempts {
		to = append(to, a.Endpoint)
		a.Progress(dial.Connecting)
		if err != nil {
			a.Connected(nil, err)
			continue
		}
		a.Connected(&dial.Connection{Protocol: a.Target.Protocol}, nil)
	}
	return to
}

// pass lets time pass, and fires timers.
func (b *bench) pass(d time.Duration) {
	b.cs.Begin(b.cs.now + int64(d))
	b.cs.Fire()
}

// check checks the invariants, and how many sockets are open.
func (b *bench) check(t *testing.T, sockets int) {
	t.Helper()
	b.cs.Flush()
	dials := func(of netio.Awaiter) bool {
		for _, a := range b.attempts {
			if a.Awaiter == of {
				return true
			}
		}
		return false
	}
	for _, what := range b.cs.Check(true, func(fd int) bool { return b.closed[fd] }, dials) {
		t.Error(what)
	}
	if n := b.cs.Sockets(); n != sockets || b.sockets-len(b.closed) != sockets || b.cs.StrayEvents() > 0 {
		t.Errorf("%d sockets, the network has %d, want %d; log: %s", n, b.sockets-len(b.closed), sockets, strings.Join(b.log, "; "))
	}
}

// TestOpen: connection k goes to endpoint k modulo their number. The worker is ready when all are open.
func TestOpen(t *testing.T) {
	b := newBench(t, nil)
	b.cs.Open(0, 4, 1, true)
	if b.check(t, 0); b.cs.Awaited() != 4 || b.cs.To(0).Take() != nil {
		t.Errorf("%d connections are awaited, want 4", b.cs.Awaited())
	}
	if diff := cmp.Diff([]int{1, 2, 0, 1}, b.dialled(nil)); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	b.check(t, 4)
	taken := map[*Conn]bool{}
	for range 4 {
		c := b.cs.To(0).Take()
		taken[c] = true
		b.cs.To(0).Offer(c)
	}
	if b.cs.Awaited() != 0 || len(taken) != 4 || b.cs.To(0).Streams() != 1 {
		t.Errorf("%d connections are awaited, %d were taken, with %d streams", b.cs.Awaited(), len(taken), b.cs.To(0).Streams())
	}
	b.cs.Resize(0, 1, 1, false)
	b.check(t, 1)
	b.cs.CloseAll()
	if b.check(t, 0); b.cs.Left() != 0 {
		t.Errorf("%d connections have not ended", b.cs.Left())
	}
}

// TestFailover: after a failure, the connection waits and tries the next endpoint. After it is open there, it tries the first one again.
func TestFailover(t *testing.T) {
	b := newBench(t, func(t *rv.Target) { t.Connecting.FailbackInterval = 5 * time.Second })
	b.cs.Open(0, 1, 0, true)
	var to []int
	for range 2 {
		to = append(to, b.dialled(errors.New("refused"))...)
		b.check(t, 0)
		if why := b.cs.Problem(); !strings.HasPrefix(why, "target t (http://e") || b.cs.To(0).Cause().Kind != rv.CauseNoConnection {
			t.Errorf("problem %q, cause %+v", why, b.cs.To(0).Cause())
		}
		if at := b.cs.Next() - b.cs.now; at != int64(firstBackoff) {
			t.Errorf("the next attempt is after %v, want %v", time.Duration(at), firstBackoff)
		}
		b.pass(firstBackoff)
	}
	to = append(to, b.dialled(nil)...)
	b.check(t, 1)
	if b.cs.To(0).Failures() != 0 || b.cs.Problem() != "" {
		t.Errorf("%d failures, problem %q", b.cs.To(0).Failures(), b.cs.Problem())
	}
	c := b.cs.To(0).Take()
	b.cs.handle(c, responded)
	b.cs.To(0).Offer(c)
	b.pass(5 * time.Second)
	to = append(to, b.dialled(nil)...)
	b.check(t, 2) // the first endpoint is on trial
	b.pass(trialTime)
	b.check(t, 1)
	if diff := cmp.Diff([]int{0, 1, 2, 0}, to); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

// TestOnDemand: connections are opened for requests that wait, and no more than these need.
func TestOnDemand(t *testing.T) {
	b := newBench(t, func(t *rv.Target) { t.Connecting.OnDemand, t.HTTP1.Pipeline = true, 2 })
	b.cs.Open(0, 5, 0, true)
	b.cs.ConnectFor(0)
	if b.check(t, 0); b.cs.Awaited() != 0 || len(b.attempts) != 0 || !b.cs.IsIdle(0) {
		t.Errorf("%d are awaited, %d are dialled; want none", b.cs.Awaited(), len(b.attempts))
	}
	b.waiting = 3
	b.cs.ConnectFor(0)
	b.cs.ConnectFor(0)
	if n := len(b.dialled(nil)); n != 2 || !b.cs.HasStream(0) {
		t.Errorf("%d are dialled, want 2", n)
	}
	b.check(t, 2)
}

// TestTimeouts: a connection over HTTP/2 whose peer sends no SETTINGS is lost.
func TestTimeouts(t *testing.T) {
	b := newBench(t, func(t *rv.Target) { t.Protocol = rv.ProtocolH2 })
	b.cs.Open(0, 1, 0, true)
	b.dialled(nil)
	b.check(t, 1)
	b.pass(time.Second / 2)
	if slow := b.cs.Slow(); !strings.Contains(slow, "no SETTINGS") {
		t.Errorf("slow: %q", slow)
	}
	b.pass(time.Second / 2)
	if b.check(t, 0); !strings.Contains(b.cs.Problem(), "1s") {
		t.Errorf("problem %q", b.cs.Problem())
	}
}
