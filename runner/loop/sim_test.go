package loop

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/slots"
	"github.com/h2surge/h2surge/test/peer"
)

// sim is a network in memory with a clock of its own. Waiting moves the clock to the next thing
// that happens, so a minute of load takes milliseconds and every run is the same.
type sim struct {
	t       *testing.T
	clock   int64
	pending timeline
	order   int
	conns   []*simConn
	woken   bool
	// serve decides what becomes of a request.
	serve func(*simRequest) reply
	// settings the peers announce.
	settings []http2.Setting
	// naps counts the naps; longestNap and napped are the longest and all of them.
	naps               int
	longestNap, napped time.Duration
	// onSettings sees the worker's SETTINGS.
	onSettings func(*http2.SettingsFrame)
	// pings counts PING frames; mute peers do not answer them.
	pings int
	mute  bool
	// unreachable is the target that refuses all connections; "": none.
	unreachable string
	// dialled are all attempts to connect.
	dialled []netio.Attempt
	// dialledAt are their instants.
	dialledAt []time.Duration
	// hangs: connects of the loop itself get no answer.
	hangs bool
	// attempts are those of the dialer that have no outcome yet.
	attempts map[netio.Awaiter]bool
	// attempt returns what the dialer does next; nil: it connects in a millisecond.
	attempt func() attempt
	// down endpoints refuse connections. bad ones accept them and do this instead of greeting; once it has
	// returned, requests on them are not answered.
	down map[int]bool
	bad  map[int]func(*simConn)
	// secure is the TLS of the next connection that is dialled; nil: cleartext.
	secure *dial.Secure
	// refuse makes the next n connects fail.
	refuse int
	// silent makes the next n peers accept and say nothing. raw does so with all of them, and keeps what the worker sends.
	silent int
	raw    bool
	// served counts requests in the order of their arrival.
	served []*simRequest
	// turnCost is how long each turn of the worker takes.
	turnCost time.Duration
	// direct: the worker may connect from the loop itself.
	direct bool
	// endpoints has the index of each address, and protocol is the target's, for direct connects.
	endpoints map[string]int
	protocol  rv.Protocol
	// everyTurn is called before the worker waits.
	everyTurn func()
	// idle is called when nothing has happened; it returns whether it made something happen. nil: time passes.
	idle func() bool
	// closed is called after the worker has closed a socket.
	closed func()
	// asleep is called when the worker is to wait for events.
	asleep func()
	// why is the error of the last Read or Send that said Closed.
	why error
	// sendCost is how long each Send takes.
	sendCost time.Duration
	// waits counts the turns of the worker.
	waits int
}

type (
	simRequest = peer.Request
	reply      = peer.Reply
)

type simConn struct {
	peer.Peer
	s        *sim
	index    int
	data     int32
	fd       int
	hungUp   bool // by the worker
	endpoint int
	watching bool
	// broken: the next Read or Send fails with it. As the kernel does, it reports the error once: then Read gives Ended and
	// Send EPIPE.
	broken error
	// bad: it answers nothing.
	bad bool
	// raw: what the worker sends is kept and not parsed.
	raw bool
	// full: the socket takes nothing more from the worker.
	full bool
	// pending: the loop's own connect is under way; refused: it failed; wantsRoom: the worker waits for its end.
	pending, refused, wantsRoom bool
}

type happening struct {
	at    int64
	order int
	do    func()
}

type timeline []happening

func (t timeline) Len() int { return len(t) }
func (t timeline) Less(i, j int) bool {
	return t[i].at < t[j].at || t[i].at == t[j].at && t[i].order < t[j].order
}
func (t timeline) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timeline) Push(x any)   { *t = append(*t, x.(happening)) }
func (t *timeline) Pop() any {
	old := *t
	h := old[len(old)-1]
	*t = old[:len(old)-1]
	return h
}

func (s *sim) in(d time.Duration, do func()) {
	s.order++
	heap.Push(&s.pending, happening{s.clock + int64(d), s.order, do})
}

func (s *sim) Now() int64 { return s.clock }
func (s *sim) Wake()      { s.woken = true }

func (s *sim) Nap(d time.Duration) {
	s.naps++
	s.longestNap, s.napped = max(s.longestNap, d), s.napped+d
	s.clock += int64(d)
}

// Wait implements Net: it delivers what is there, or lets time pass.
func (s *sim) Wait(out []netio.Event, timeout time.Duration) (int, bool, error) {
	s.waits++
	if s.everyTurn != nil {
		s.everyTurn()
	}
	if s.asleep != nil && timeout != 0 {
		s.asleep()
	}
	s.clock += int64(s.turnCost)
	limit := int64(never)
	if timeout >= 0 {
		limit = s.clock + int64(timeout)
	}
	for {
		for len(s.pending) > 0 && s.pending[0].at <= s.clock {
			heap.Pop(&s.pending).(happening).do()
		}
		n := 0
		for _, c := range s.conns {
			if !c.watching || c.hungUp || c.pending || n == len(out) {
				continue
			}
			ev := netio.Event{Data: c.data, Readable: c.Out.Len() > 0 || c.Closed || c.broken != nil, Writable: c.wantsRoom}
			if ev.Readable || ev.Writable {
				out[n] = ev
				n++
			}
		}
		woken := s.woken
		s.woken = false
		if n > 0 || woken || s.clock >= limit {
			return n, woken, nil
		}
		if s.idle != nil && s.idle() {
			continue
		}
		next := limit
		if len(s.pending) > 0 {
			next = min(next, s.pending[0].at)
		}
		if next == never {
			return 0, false, errors.New("the worker waits for something that will never happen")
		}
		s.clock = next
	}
}

// noFD is added to descriptors that the worker has not adopted and may close: the process has none of these.
const noFD = 1 << 30

func (s *sim) Adopt(d *dial.Connection, data int32) (int, error) {
	fd := d.FD - noFD
	c := s.conns[fd]
	c.data, c.watching = data, true
	return fd, nil
}

// Connect leaves connecting to Dial, unless the bench wants it here. It takes a millisecond, too.
func (s *sim) Connect(address string, _ bool) (*dial.Connection, bool, error) {
	if !s.direct {
		return nil, false, nil
	}
	s.dialled = append(s.dialled, netio.Attempt{Endpoint: s.endpoints[address]})
	s.dialledAt = append(s.dialledAt, time.Duration(s.clock))
	c := s.accept(s.endpoints[address], s.protocol)
	c.pending = true
	if s.hangs {
		return &dial.Connection{FD: noFD + c.fd}, true, nil
	}
	s.in(time.Millisecond, func() {
		if c.pending = false; s.refuses(c.endpoint) {
			c.refused, c.broken = true, syscall.ECONNREFUSED
			c.Out.Reset()
		}
	})
	return &dial.Connection{FD: noFD + c.fd}, true, nil
}

func (s *sim) Interest(fd int, _ int32, writable bool) error {
	s.conns[fd].wantsRoom = writable
	return nil
}

func (s *sim) Read(fd int, b []byte) (int, netio.Status) {
	c := s.conns[fd]
	if c.pending || c.Out.Len() == 0 {
		switch {
		case c.pending:
		case c.broken != nil:
			return 0, c.fail()
		case c.Closed:
			return 0, netio.Ended
		}
		return 0, netio.Again
	}
	n, _ := c.Out.Read(b)
	return n, netio.OK
}

func (s *sim) Send(fd int, b []byte) (int, netio.Status) {
	c := s.conns[fd]
	if c.pending || c.full {
		return 0, netio.Again
	}
	if c.Closed && !c.raw || c.broken != nil {
		return 0, c.fail()
	}
	s.clock += int64(s.sendCost)
	c.In.Write(b)
	if c.raw {
		return len(b), netio.OK
	}
	if err := c.Parse(); err != nil {
		s.t.Fatalf("the worker sent %v", err)
	}
	return len(b), netio.OK
}

// fail reports the error of a closed connection.
func (c *simConn) fail() netio.Status {
	c.s.why = cmp.Or(c.broken, error(syscall.EPIPE))
	c.broken, c.Closed = nil, true
	return netio.Closed
}

func (s *sim) Why() error { return s.why }

func (s *sim) Close(fd int) {
	s.conns[fd].hungUp = true
	if s.closed != nil {
		s.closed()
	}
}

// sockets returns how many sockets the worker has open.
func (s *sim) sockets() (n int) {
	for _, c := range s.conns {
		if c.watching && !c.hungUp {
			n++
		}
	}
	return n
}

// isOpen returns whether the worker has an open socket with this data.
func (s *sim) isOpen(data int32) bool {
	return slices.ContainsFunc(s.conns, func(c *simConn) bool { return c.data == data && c.watching && !c.hungUp })
}

// Dial implements Dialer.
func (s *sim) Dial(r netio.Attempt) {
	s.dialled = append(s.dialled, r)
	s.dialledAt = append(s.dialledAt, time.Duration(s.clock))
	a := attempt{steps: []attemptStep{{time.Millisecond, dial.Connecting}}}
	if s.attempt != nil {
		a = s.attempt()
	}
	after := time.Duration(0)
	id := r.Awaiter
	s.attempts[id] = true
	for _, step := range a.steps {
		after += step.after
		s.in(after, func() { r.Progress(step.step) })
	}
	s.in(after+a.after, func() {
		delete(s.attempts, id)
		if a.err != nil || s.refuses(r.Endpoint) || r.Target.Name == s.unreachable {
			r.Connected(nil, cmp.Or(a.err, error(syscall.ECONNREFUSED)))
			return
		}
		c := s.accept(r.Endpoint, r.Target.Protocol)
		secure := s.secure
		s.secure = nil
		r.Connected(&dial.Connection{FD: noFD + c.fd, Took: time.Millisecond, Addresses: 1, Phases: simPhases, Protocol: r.Target.Protocol, Secure: secure}, nil)
	})
}

// simPhases are the phases of each connection that Dial opens.
var simPhases = dial.Phases{NameResolution: 300 * time.Microsecond, TCPConnect: 500 * time.Microsecond}

// attempt is what the dialer reports before it is connected, or fails with an error.
type attempt struct {
	steps []attemptStep
	after time.Duration // from the last step to the outcome
	err   error
}

type attemptStep struct {
	after time.Duration // from the step before
	step  dial.Step
}

func (s *sim) refuses(endpoint int) bool {
	if s.refuse > 0 {
		s.refuse--
		return true
	}
	return s.down[endpoint]
}

// accept makes a connection and greets on it.
func (s *sim) accept(endpoint int, protocol rv.Protocol) *simConn {
	c := &simConn{s: s, endpoint: endpoint, index: len(s.conns), fd: len(s.conns), raw: s.raw}
	c.Peer = peer.Peer{
		Index: c.index, HTTP1: protocol == rv.ProtocolHTTP1, Now: func() time.Duration { return time.Duration(s.clock) }, Later: s.in,
		Serve: c.serve, Control: c.control,
	}
	c.Init()
	s.conns = append(s.conns, c)
	switch bad := s.bad[endpoint]; {
	case c.raw:
	case bad != nil:
		c.bad = true
		bad(c)
	case s.silent > 0:
		s.silent--
	case !c.HTTP1:
		if err := http2.NewFramer(&c.Out, nil).WriteSettings(s.settings...); err != nil {
			s.t.Fatal(err)
		}
	}
	return c
}

func (c *simConn) serve(r *simRequest) reply {
	c.s.served = append(c.s.served, r)
	if c.bad {
		return reply{}
	}
	return c.s.serve(r)
}

// control returns whether the peer answers a PING.
func (c *simConn) control(f http2.Frame) bool {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if c.s.onSettings != nil && !f.IsAck() {
			c.s.onSettings(f)
		}
	case *http2.PingFrame:
		c.s.pings++
	}
	return !c.s.mute
}

// ok answers everything with 200 after a delay.
func ok(after time.Duration) func(*simRequest) reply {
	return func(*simRequest) reply { return reply{After: after, Status: 200} }
}

// gets is a plan of one GET step.
func gets(rates ...rv.Rate) *rv.Plan {
	return &rv.Plan{
		Targets: []rv.Target{{
			Name: "t", Connections: 1, MaxConcurrentStreams: 100, ConnectTimeout: time.Second,
			Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "t", Address: "t:80"}},
		}},
		Chains: []rv.Chain{{Name: "c", Weight: 1, Steps: []rv.Step{{Name: "get", Method: "GET", Path: rv.Text{{Literal: "/"}}, Timeout: time.Second}}}},
		Rates:  rates,
		Drain:  time.Second,
	}
}

func perSecond(n int64, d time.Duration) rv.Rate {
	return rv.Rate{Name: "r", Count: n, Period: time.Second, Duration: d}
}

// bench is a worker in the simulated network.
type bench struct {
	*sim
	w *Worker
	// startAt is the start instant, once given.
	startAt int64
	// onStart is done once the start instant is known.
	onStart []func()
	// lead is how long the start instant is ahead when the worker is ready; below zero, it has passed. missed
	// goes with the start, with instants from it on.
	lead   time.Duration
	missed []slots.Change
	// drainedAt is when the worker waited for Teardown, which comes after teardownAfter.
	drainedAt     int64
	teardownAfter time.Duration
}

func newBench(t *testing.T, p *rv.Plan, serve func(*simRequest) reply) *bench {
	t.Helper()
	return newBenchOf(t, p, split.Whole(p), serve)
}

// selected returns the selections that a runner gives its workers.
func selected(p *rv.Plan) []rv.Selection {
	selections, _ := p.Selections()
	ofStages, _ := p.StageSelections()
	return append(selections, ofStages...)
}

func newBenchOf(t *testing.T, p *rv.Plan, share rv.Share, serve func(*simRequest) reply) *bench {
	t.Helper()
	g, err := chain.Load(p, chain.Resources{})
	if err != nil {
		t.Fatal(err)
	}
	s := &sim{t: t, serve: serve, clock: 1000, endpoints: map[string]int{}, attempts: map[netio.Awaiter]bool{}, protocol: p.Targets[0].Protocol}
	for i, e := range p.Targets[0].Endpoints {
		s.endpoints[e.Address] = i
	}
	b := &bench{sim: s, lead: 10 * time.Millisecond}
	b.w, err = New(Config{
		Program: g, Rates: p.Rates, Selections: selected(p), Share: share, MaxWait: p.Drain, Deadline: p.Deadline, RequestLimit: p.RequestLimit,
		Net: s, Dialer: s, Log: slog.New(strict{slog.DiscardHandler, t}),
		Changed: func() {
			switch {
			case b.w.Phase() == Ready && b.startAt == 0:
				b.startAt = s.clock + int64(b.lead)
				values := b.w.Read().Globals
				for i := range b.missed {
					b.missed[i].At += b.startAt
				}
				b.w.Start(b.startAt, values, b.missed...)
				for _, f := range b.onStart {
					f()
				}
			case b.w.Phase() == Drained:
				b.drainedAt = s.clock
				b.in(b.teardownAfter, func() { b.w.Do(func(w *Worker) { w.Teardown() }) })
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// strict is a log that fails the test if it gets an error.
type strict struct {
	slog.Handler
	t *testing.T
}

func (strict) Enabled(context.Context, slog.Level) bool { return true }

func (s strict) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		s.t.Error(r.Message)
	}
	return nil
}

// run works to the end and checks the counting law.
func (b *bench) run() *rvTotals {
	b.t.Helper()
	if err := b.w.Run(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	return b.totals()
}

// rvTotals are the counters of all steps, and what the worker holds.
type rvTotals struct {
	Sent, Done, Succeeded, TimedOut, Reset, Lost, InFlight, Dropped, Retried, WarmUp int64
}

func (b *bench) totals() *rvTotals {
	b.t.Helper()
	var out rvTotals
	for i := range b.w.rec.Steps {
		s := &b.w.rec.Steps[i]
		out.Sent += s.Sent
		out.Done += s.Done
		out.Succeeded += s.Succeeded
		out.TimedOut += s.TimedOut
		out.Reset += s.Reset
		out.Lost += s.ConnectionLost
		if s.ResponseTime.Count() != s.Done {
			b.t.Errorf("step %d: %d response times of %d responses", i, s.ResponseTime.Count(), s.Done)
		}
	}
	g := b.w.Read()
	for _, n := range g.InFlight {
		out.InFlight += n
	}
	out.Dropped, out.Retried, out.WarmUp = b.w.rec.Dropped, b.w.rec.Retried, b.w.rec.WarmUpSent
	if out.Sent != out.Done+out.TimedOut+out.Reset+out.Lost+out.InFlight {
		b.t.Errorf("the counting law is broken: %+v", out)
	}
	for i := range b.w.rec.Steps {
		s := &b.w.rec.Steps[i]
		if n := sum(s.FailedBy.Counts()); n != s.Done-s.Succeeded {
			b.t.Errorf("step %d: %d failed checks have a name, of %d", i, n, s.Done-s.Succeeded)
		}
	}
	for i := range b.w.rec.Chains {
		c := &b.w.rec.Chains[i]
		if n := sum(c.AbortedBy.Counts()); n != c.Aborted {
			b.t.Errorf("chain %d: %d aborted instances have a reason, of %d", i, n, c.Aborted)
		}
	}
	causes := map[rv.FailureOf]int64{}
	for _, c := range b.w.rec.Failures.List() {
		causes[c.Of] += c.Count
	}
	for of, n := range map[rv.FailureOf]int64{rv.FailureReset: out.Reset, rv.FailureConnectionLost: out.Lost, rv.FailureDropped: out.Dropped} {
		if causes[of] != n {
			b.t.Errorf("%d of %d %s have a cause", causes[of], n, of)
		}
	}
	var blocked, reconnecting, bodies int64
	for i := range b.w.rec.Targets {
		t := &b.w.rec.Targets[i]
		blocked, reconnecting, bodies = blocked+t.Blocked.Count(), reconnecting+t.Reconnecting.Count(), bodies+t.Body.Count()
	}
	if blocked != out.Sent || reconnecting != out.Sent || bodies != out.Done {
		b.t.Errorf("%d blocked and %d reconnecting times of %d requests, %d bodies of %d responses", blocked, reconnecting, out.Sent, bodies, out.Done)
	}
	return &out
}

func sum(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}
