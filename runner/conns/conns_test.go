package conns

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/measure"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/protocol"
)

// bench is a Net, a Dialer, and a Demand.
type bench struct {
	netio.Net
	protocol.Handler
	cs *Connections
	// attempts are those without an outcome. log has the transitions.
	attempts []netio.Attempt
	log      []string
	peers    []*peer
	// direct: the loop may connect itself.
	direct bool
	// addresses is how many addresses a host name has.
	addresses int
	// waiting, over, fills and doneInTurn are the demand.
	waiting     int
	over, fills bool
	doneInTurn  int
	// logged has what the connections have logged: defects.
	logged strings.Builder
	// onDone gets the outcomes of requests.
	onDone func(token uint32, o protocol.Outcome)
}

// peer is the other end of a socket. It takes all octets.
type peer struct {
	data int32
	out  []byte // to be read from the socket
	// pending: the socket is not connected. full: it takes nothing, and of HTTP/3 no requests. ended and broken: it has no
	// more octets than out.
	pending, full, ended, broken bool
	// wantsRoom: Net reports when the socket takes octets. closed: the socket is closed.
	wantsRoom, closed bool
	// greeted: the peer has sent SETTINGS.
	greeted bool
}

func newBench(t *testing.T, change func(*rv.Target)) *bench {
	t.Helper()
	b := &bench{onDone: func(uint32, protocol.Outcome) {}}
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
	targets := NewTargets(g)
	b.cs = New(Config{
		Net: b, Dialer: b, Recorder: measure.New(measure.Shape{Targets: 1}), Demand: b, Handler: b,
		Do: func(f func()) bool { f(); return true }, Late: func() bool { return false }, SkipWait: func() {},
		Log: slog.New(slog.NewTextHandler(&b.logged, nil)),
	}, &targets)
	b.cs.watch = func(e *transition) { b.log = append(b.log, e.String()) }
	b.cs.Begin(1)
	return b
}

func (b *bench) Over() bool         { return b.over }
func (b *bench) FillsStreams() bool { return b.fills }
func (b *bench) Waiting(int32) int  { return b.waiting }
func (b *bench) DoneInTurn() int    { return b.doneInTurn }

func (b *bench) OnDone(token uint32, o protocol.Outcome) { b.onDone(token, o) }
func (*bench) OnStatus(uint32, int)                      {}

func (b *bench) Now() int64 { return b.cs.now }

// ownConnect is the FD of a connection that the loop connects.
const ownConnect = 1

func (b *bench) Connect(string, bool) (*dial.Connection, bool, error) {
	return &dial.Connection{FD: ownConnect}, b.direct, nil
}

func (b *bench) Adopt(d *dial.Connection, data int32) (fd int, err error) {
	b.peers = append(b.peers, &peer{data: data, pending: d.FD == ownConnect})
	return len(b.peers) - 1, nil
}

func (b *bench) Read(fd int, to []byte) (n int, st netio.Status) {
	switch p := b.peers[fd]; {
	case p.pending:
		return 0, netio.Again
	case len(p.out) > 0:
		n = copy(to, p.out)
		p.out = p.out[n:]
		return n, netio.OK
	case p.broken:
		return 0, netio.Closed
	case p.ended:
		return 0, netio.Ended
	}
	return 0, netio.Again
}

func (b *bench) Send(fd int, octets []byte) (int, netio.Status) {
	switch p := b.peers[fd]; {
	case p.pending || p.full && h3.Kind(octets[0]) != h3.Cancel:
		return 0, netio.Again
	case p.broken || p.ended:
		return 0, netio.Closed
	}
	return len(octets), netio.OK
}

func (b *bench) Interest(fd int, _ int32, writable bool) error {
	b.peers[fd].wantsRoom = writable
	return nil
}

func (*bench) Why() error     { return syscall.ECONNRESET }
func (b *bench) Close(fd int) { b.peers[fd].closed = true }

// deliver reports all ready sockets.
func (b *bench) deliver() {
	for _, p := range b.peers {
		ev := netio.Event{Data: p.data, Readable: len(p.out) > 0 || p.ended || p.broken, Writable: p.wantsRoom && !p.full, Ended: p.ended}
		if !p.closed && !p.pending && (ev.Readable || ev.Writable) {
			b.cs.Ready(&ev)
		}
	}
}

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
		a.Connected(&dial.Connection{Protocol: a.Target.Protocol, Addresses: b.addresses}, nil)
	}
	return to
}

// pass lets time pass, and fires timers.
func (b *bench) pass(d time.Duration) {
	b.cs.Begin(b.cs.now + int64(d))
	b.cs.Fire()
}

// check ends the turn, and checks the invariants and how many sockets are open.
func (b *bench) check(t *testing.T, sockets int) {
	t.Helper()
	b.cs.Flush()
	for _, what := range b.wrong() {
		t.Error(what)
	}
	if n := b.sockets(); n != sockets {
		t.Errorf("%d sockets, want %d; log: %s", n, sockets, strings.Join(b.log, "; "))
	}
}

// sockets returns how many sockets are open.
func (b *bench) sockets() (n int) {
	for _, p := range b.peers {
		if !p.closed {
			n++
		}
	}
	return n
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
	b.cs.resize(0, 1, 1, false)
	b.check(t, 1)
	b.cs.CloseAll()
	if b.check(t, 0); b.left() != 0 {
		t.Errorf("%d connections have not ended", b.left())
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

// settings3 returns the record with SETTINGS of HTTP/3.
func settings3() []byte {
	const control, settings, empty = 0, 4, 0
	return h3.AppendRecord(nil, &h3.Record{Kind: h3.Peer, Data: []byte{control, settings, empty}})
}

// TestStreams: a connection of HTTP/3 can hold as many requests as the peer permits streams, also if it permits them after
// SETTINGS, and used ones are replaced in other slots. With PerInstance it holds one.
func TestStreams(t *testing.T) {
	for _, tc := range []struct {
		perInstance bool
		want        [3]int64 // with the first streams, with more, and with those that replace used ones
	}{{false, [3]int64{1, 10, 10}}, {true, [3]int64{1, 1, 1}}} {
		b := newBench(t, func(t *rv.Target) {
			t.Protocol, t.MaxConcurrentStreams, t.Connecting.PerInstance = rv.ProtocolH3, 100, tc.perInstance
		})
		b.cs.Open(0, 1, 0, true)
		b.dialled(nil)
		credits := func(from, to uint32) (out []byte) {
			for i := from; i < to; i++ {
				out = h3.AppendRecord(out, &h3.Record{Kind: h3.Credit, Slot: i, Stream: i})
			}
			return out
		}
		var got [3]int64
		for i, out := range [][]byte{append(settings3(), credits(0, 1)...), credits(1, 10), credits(10, 12)} {
			if i == 2 {
				b.useTwo(t)
			}
			b.peers[0].out = out
			b.deliver()
			b.check(t, 1)
			got[i] = b.cs.To(0).Streams()
		}
		if got != tc.want {
			t.Errorf("per instance %t: %v streams, want %v", tc.perInstance, got, tc.want)
		}
	}
}

// useTwo sends two requests on a connection of HTTP/3, and cancels them.
func (b *bench) useTwo(t *testing.T) {
	t.Helper()
	for tok := range uint32(2) {
		c := b.cs.To(0).Take()
		id := c.OpenRequest(c.h3.Begin(), tok, nil, 0)
		b.cs.Carried(c)
		c.Cancel(id, 0)
		b.cs.Cancelled(c)
	}
	b.check(t, 1)
}

// TestCancelOfFull: a connection of HTTP/3 that takes no requests takes the cancellation of one.
func TestCancelOfFull(t *testing.T) {
	b := newBench(t, func(t *rv.Target) { t.Protocol = rv.ProtocolH3 })
	b.cs.Open(0, 1, 0, true)
	b.dialled(nil)
	b.peers[0].out = h3.AppendRecord(settings3(), &h3.Record{Kind: h3.Credit})
	b.deliver()
	b.check(t, 1)
	c := b.cs.To(0).Take()
	id := c.OpenRequest(c.h3.Begin(), 1, nil, 0)
	b.cs.Carried(c)
	b.peers[0].full = true
	b.check(t, 1)
	if !c.socket.AwaitsWritable() {
		t.Fatal("the connection takes the request")
	}
	c.Cancel(id, 0)
	b.cs.Cancelled(c)
	b.check(t, 1)
	if r, _ := h3.NextRecord(c.h3.Pending()); r.Kind != h3.Request {
		t.Errorf("record %+v waits", r)
	}
}

// TestFailbackAfterEarlyData: a trial that can send early data has no answer of its endpoint, and does not take the place
// before SETTINGS have come.
func TestFailbackAfterEarlyData(t *testing.T) {
	b := newBench(t, func(t *rv.Target) { t.Protocol = rv.ProtocolH3 })
	early := h3.AppendRecord(h3.AppendRecord(nil, &h3.Record{Kind: h3.Early}), &h3.Record{Kind: h3.Credit})
	answer := append(h3.AppendRecord(nil, &h3.Record{Kind: h3.Handshaken, Code: h3.AcceptedEarly}), settings3()...)
	b.cs.Open(0, 1, 0, true)
	b.dialled(errors.New("refused"))
	b.pass(firstBackoff)
	b.dialled(nil)
	b.peers[0].out = early
	b.deliver()
	b.check(t, 1)
	c := b.cs.To(0).Take()
	if c == nil || c.endpoint != 1 {
		t.Fatalf("the first connection that is open is %+v", c)
	}
	b.cs.handle(c, responded)
	b.cs.To(0).Offer(c)
	b.pass(defaultFailback)
	b.dialled(nil)
	b.peers[1].out = early
	b.deliver()
	if b.check(t, 2); c.state != open {
		t.Errorf("the connection to the second endpoint is %s before the first one has answered", c.state)
	}
	b.peers[1].out = answer
	b.deliver()
	b.check(t, 1)
	if c := b.cs.To(0).Take(); c == nil || c.endpoint != 0 {
		t.Errorf("the open connection is %+v, want one to the first endpoint", c)
	}
}

// TestOnDemand: connections are opened for requests that wait, and no more than these need.
func TestOnDemand(t *testing.T) {
	b := newBench(t, func(t *rv.Target) { t.Connecting.OnDemand, t.HTTP1.Pipeline = true, 2 })
	b.cs.Open(0, 5, 0, true)
	b.cs.ConnectFor(0)
	if b.check(t, 0); b.cs.Awaited() != 0 || len(b.attempts) != 0 {
		t.Errorf("%d are awaited, %d are dialled; want none", b.cs.Awaited(), len(b.attempts))
	}
	b.waiting = 3
	b.cs.ConnectFor(0)
	b.cs.ConnectFor(0)
	if n := len(b.dialled(nil)); n != 2 || b.cs.To(0).Take() == nil {
		t.Errorf("%d are dialled, want 2", n)
	}
}

// TestSlowDiscovery: what hangs in an attempt without TLS is the question about the protocol.
func TestSlowDiscovery(t *testing.T) {
	b := newBench(t, func(t *rv.Target) { t.Protocol = rv.ProtocolDiscovered })
	b.cs.Open(0, 1, 0, true)
	b.attempts[0].Progress(dial.Connecting)
	b.attempts[0].Progress(dial.Handshaking)
	b.pass(time.Second / 2)
	want := "target t (http://e0): the server has answered neither the preface of HTTP/2 nor OPTIONS * of HTTP/1.1 for 500ms (e0:80)"
	if slow := b.cs.Slow(); slow != want {
		t.Errorf("got %q, want %q", slow, want)
	}
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
