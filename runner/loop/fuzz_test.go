package loop

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/slots"
)

// FuzzLoop is a worker on a network that the input decides about: what servers send, when they close, what
// is refused, how time passes. Whatever happens, the run ends, and the counts add up.
func FuzzLoop(f *testing.F) {
	for i := range 256 {
		mode := byte(i)
		f.Add(mode, []byte{})
		f.Add(mode, fuzzSeed())
		f.Add(mode, []byte{opGreet, opAnswer, opAnswer, opTime, 9, opAnswer, opGoAway, 3, opGreet, opAnswer, opClose, opAnswer})
		f.Add(mode, []byte{opRefuse, 2, opGreet, opTime, 200, opReset, 7, opAnswer, opBreak, opRaw, 9, 0, 0, 0, 6, 0, 0, 0, 0, 0, opAnswer})
		f.Add(mode, append([]byte{opGreet, opRaw, 70}, "HTTP/1.1 200 OK\r\nlocation: http://other:81/x/../y\r\ncontent-length: 0\r\n\r\n"...))
		f.Add(mode, append([]byte{opRaw, 52}, "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\nup to the end..."...))
	}
	f.Fuzz(func(t *testing.T, mode byte, script []byte) {
		if len(script) > 4<<10 {
			t.Skip("longer ones find nothing else")
		}
		p := fuzzPlan(mode)
		newFuzzNet(t, script, p).run(p)
	})
}

// fuzzPlan has steps of each kind; the bits of mode choose the protocol and how the load is made.
func fuzzPlan(mode byte) *rv.Plan {
	rate := rv.Rate{Name: "paced", Count: 500, Period: time.Second, Duration: 60 * time.Millisecond}
	if mode&1 != 0 {
		rate = rv.Rate{Name: "fast", ClosedLoop: true, Requests: 30, Duration: 60 * time.Millisecond}
	}
	rate.ChainsPerSecond = mode&32 != 0 && !rate.ClosedLoop
	rates := []rv.Rate{rate}
	if mode&64 != 0 {
		rates = append([]rv.Rate{{Name: "warm", Count: 500, Period: time.Second, Duration: 20 * time.Millisecond, WarmUp: true}}, rates...)
	}
	p := steps(rate,
		step("a", func(s *rv.Step) { s.Capture = []rv.Capture{{Source: header("location"), Optional: true}} }),
		step("b", func(s *rv.Step) { s.Method, s.Body = "POST", lit(strings.Repeat("u", 40_000)) }),
		step("c", func(s *rv.Step) {
			s.Path = rv.Text{{Capture: 1}}
			s.Expect.Checks = []rv.Check{{Name: "body", Source: &rv.Source{Kind: rv.SourceBody}, Match: &rv.Match{Op: rv.MatchContains, Want: lit("ok")}}}
		}))
	p.Chains[0].Captures, p.Rates = []string{"at"}, rates
	if mode&64 != 0 {
		fuzzFlow(p)
	}
	if mode&128 != 0 {
		fuzzAwait(p)
	}
	for i := range p.Chains[0].Steps {
		p.Chains[0].Steps[i].Timeout = 50 * time.Millisecond
	}
	p.Drain = 50 * time.Millisecond
	t := &p.Targets[0]
	t.FollowAuthority, t.Connections, t.MaxConcurrentStreams, t.ConnectTimeout = true, 2, 3, 100*time.Millisecond
	t.Endpoints = append(t.Endpoints, rv.Endpoint{Scheme: "http", Authority: "u", Address: "u:80"})
	t.Batch = mode&16 != 0
	if mode&2 != 0 {
		t.Protocol = rv.ProtocolHTTP1
		t.HTTP1.Pipeline = 1 + int(mode>>2&1)
		t.HTTP1.NoKeepAlive = mode&8 != 0 && mode&4 == 0
	}
	return p
}

// fuzzSeed opens two connections to servers and one to a listener. Requests are then answered, some by redirects, and there
// are notifications.
func fuzzSeed() []byte {
	const second, third = 1 << 4, 2 << 4
	script := []byte{opTime, 8, opTime, 8, opGreet, 0, 0, 0, opGreet | second, 0, 0, 0, opTime, 8, opTime, 8, opServe, opTime, 4}
	for i := range byte(60) {
		script = append(script, opTime, 4+i%9, opAnswer, opRedirect|second, i, opTime, 2, opRedirect, i/7, opAnswer|second)
		if i%3 == 0 {
			script = append(script, opNotify|third, opTime, 1, opNotify|third)
		}
	}
	return script
}

// fuzzFlow lets requests follow redirects, also at the same time, be sent again, and be sent after the load.
func fuzzFlow(p *rv.Plan) {
	s := p.Chains[0].Steps
	s[0].MaxRedirects, s[0].OnFailure = 2, rv.OnFailure{Retries: 1, Backoff: time.Millisecond}
	s[1].MaxRedirects, s[1].RedirectField, s[1].Group = 1, "root", 1
	s[2].MaxRedirects, s[2].OnFailure.Continue, s[2].Group = 3, true, 1
	p.Chains[0].MaxInFlight, p.Chains[0].Cookies = 20, true
	p.GracefulStop = 10 * time.Millisecond
}

// fuzzAwait inserts two steps that await notifications with the same path, one of them in the group of the last steps.
func fuzzAwait(p *rv.Plan) {
	p.Listeners = []rv.Listener{{Name: "l", Status: 200, Body: "content", Retention: 20 * time.Millisecond}}
	s := p.Chains[0].Steps
	await := func(name string, group int) rv.Step {
		return rv.Step{Name: name, Group: group, OnFailure: rv.OnFailure{Continue: group > 0}, Await: &rv.Await{Key: lit("/n")}}
	}
	p.Chains[0].Steps = []rv.Step{s[0], await("first", 0), s[1], s[2], await("second", s[2].Group)}
}

// The ops of a script. Those of a connection take it from the upper bits of their octet.
const (
	opGreet byte = iota
	opAnswer
	opRaw
	opClose
	opBreak
	opTime
	opGoAway
	opReset
	opRefuse
	opStop
	opRedirect
	opServe
	opNotify
	opLease
)

// fuzzLocations are where redirects go.
var fuzzLocations = []string{"/a", "b", "http://u/x", "http://other:81/y", "https://t/", "//", "http://t/a"}

// fuzzNet is a simulated network whose peers do what a script says.
type fuzzNet struct {
	*sim
	w       *Worker
	script  []byte
	http1   bool
	peers   []*fuzzPeer // of the connections
	lease   slots.Lease
	stopped bool
	// impatient: the run is stopped also while it has load.
	impatient bool
}

// fuzzPeer is what a connection has got.
type fuzzPeer struct {
	*simConn
	preface  bool
	streams  []uint32 // which wait for an answer; of HTTP/1.1, as many
	served   bool     // the peer has opened it
	notified uint32
}

func newFuzzNet(t *testing.T, script []byte, p *rv.Plan) *fuzzNet {
	s := &sim{t: t, clock: 1000, raw: true, unreachable: "none", attempts: map[netio.Awaiter]bool{}}
	n := &fuzzNet{sim: s, script: script, http1: len(p.Targets) > 0 && p.Targets[0].Protocol == rv.ProtocolHTTP1}
	s.idle = func() bool {
		if len(n.script) == 0 {
			return false
		}
		n.op(n.take())
		return true
	}
	s.in(time.Duration(fuzzPatience), n.stopLate)
	return n
}

func (n *fuzzNet) run(p *rv.Plan) {
	g, err := chain.Load(p, chain.Resources{})
	if err != nil {
		n.t.Fatal(err)
	}
	if err := n.work(p, g, split.Whole(p)); err != nil {
		n.t.Fatal(err)
	}
	b := &bench{sim: n.sim, w: n.w}
	if got := b.totals(); !n.stopped && got.InFlight != 0 {
		n.t.Errorf("%+v", *got)
	}
	for i, c := range n.conns {
		if c.watching && !c.hungUp {
			n.t.Errorf("connection %d is left open", i)
		}
	}
	n.checkChains(p)
	n.checkListeners()
	n.checkResponses()
}

// work runs a worker until it has ended.
func (n *fuzzNet) work(p *rv.Plan, g *chain.Program, share rv.Share) (err error) {
	started := false
	n.w, err = New(Config{
		Program: g, Rates: p.Rates, Share: share, MaxWait: p.Drain, GracefulStop: p.GracefulStop, Lease: &n.lease, Net: n, Dialer: n, Log: slog.New(slog.DiscardHandler),
		Changed: func() {
			switch n.w.Phase() {
			case Ready:
				if !started {
					started = true
					values := n.w.Read().Globals
					n.w.Start(n.clock+int64(time.Millisecond), values)
				}
			case Drained:
				n.w.Do(func(w *Worker) { w.Teardown() })
			default:
			}
		},
	})
	if err != nil {
		return err
	}
	return n.w.Run(context.Background())
}

// checkChains: each instance that was counted has ended, or not.
func (n *fuzzNet) checkChains(p *rv.Plan) {
	ended := map[int32]bool{}
	all, free := n.w.flow.All()
	for _, i := range free {
		ended[i] = true
	}
	open := int64(0)
	for i, in := range all {
		if !ended[int32(i)] && in.Measured {
			open++
		}
		if in.Outstanding() < 0 || ended[int32(i)] && in.Outstanding() != 0 {
			n.t.Errorf("instance %d has %d activations, ended: %v", i, in.Outstanding(), ended[int32(i)])
		}
	}
	c := &n.w.rec.Chains[0]
	if rest := c.Started - c.Completed - c.Aborted - open; rest < 0 || rest > 0 && p.GracefulStop == 0 {
		n.t.Errorf("instances: %d started, %d completed, %d aborted, %d did not end", c.Started, c.Completed, c.Aborted, open)
	}
}

// checkListeners: each notification and each step that awaited one is counted once, and nothing is kept.
func (n *fuzzNet) checkListeners() {
	for i, c := range n.w.Read().Listeners {
		m := n.w.rec.Listeners[i].AwaitCounts
		if c.Received != c.InTime+c.Late+c.Duplicate+c.Unexpected || c.Awaited != c.InTime+c.Missing+c.WaitingAtEnd ||
			m.Waiting() < 0 || m.Waiting() > c.WaitingAtEnd || m.InTime > c.InTime || m.Missing > c.Missing {
			n.t.Errorf("listener: %+v, measured %+v", c, m)
		}
	}
	if held := n.w.listeners.Held(); held > 0 {
		n.t.Errorf("%d notifications are held", held)
	}
	checkMemory(n.t, "listeners", n.w.listeners.Memory())
}

// checkResponses: each response that is not in use is in the pool.
func (n *fuzzNet) checkResponses() {
	var inUse []*book.Exchange
	for id := range book.ID(n.w.requests.Len()) {
		if x := n.w.requests.At(id).Exchange; x != nil {
			inUse = append(inUse, x)
		}
	}
	for _, x := range n.w.scripts.previous {
		if x != nil {
			inUse = append(inUse, x)
		}
	}
	checkMemory(n.t, "responses", n.w.requests.Memory(), inUse...)
}

// checkMemory checks that the memory that a pool counts is that of the exchanges in use.
func checkMemory(t *testing.T, pool string, counted int, inUse ...*book.Exchange) {
	t.Helper()
	left := counted
	for _, x := range inUse {
		left -= x.Memory()
	}
	if left != 0 {
		t.Errorf("%s: %d octets of %d are counted and not there", pool, left, counted)
	}
}

// The longest that a run may take: it is Connecting for as long as the owner wants, then it has to end.
const (
	fuzzPatience = int64(2 * time.Second)
	fuzzLongest  = int64(time.Minute)
	fuzzWaits    = 200_000
)

func (n *fuzzNet) Wait(out []netio.Event, timeout time.Duration) (int, bool, error) {
	if n.waits > fuzzWaits || n.clock > fuzzLongest {
		return 0, false, fmt.Errorf("the worker hangs: %d turns, %v, phase %d", n.waits, time.Duration(n.clock), n.w.Phase())
	}
	return n.sim.Wait(out, timeout)
}

// stopLate stops a run that takes longer than its owner wants.
func (n *fuzzNet) stopLate() {
	if (n.w.Phase() < Running || n.impatient) && !n.stopped {
		n.stop(false)
	}
}

func (n *fuzzNet) stop(drain bool) {
	n.stopped = true
	n.w.Do(func(w *Worker) { w.Stop(drain) })
}

// renew extends the lease by some milliseconds. An even number ends it now. There is no lease before the start.
func (n *fuzzNet) renew(d byte) {
	switch {
	case n.w.Phase() < Running:
	case d%2 == 0:
		n.lease.Set(n.clock)
	case n.lease.Renew(n.clock+int64(d)*int64(time.Millisecond), n.clock):
		n.w.Do(func(*Worker) {})
	}
}

// take reads an octet of the script, 0 behind its end.
func (n *fuzzNet) take() byte {
	if len(n.script) == 0 {
		return 0
	}
	b := n.script[0]
	n.script = n.script[1:]
	return b
}

func (n *fuzzNet) op(b byte) {
	op, c := b%16, n.conn(b>>4)
	switch op {
	case opTime:
		n.clock += int64(n.take()) * int64(time.Millisecond) / 4
		return
	case opRefuse:
		n.refuse = int(n.take() % 8)
		return
	case opStop:
		if n.w.Phase() == Running && !n.stopped {
			n.stop(b>>4&1 != 0)
		}
		return
	case opLease:
		n.renew(n.take())
		return
	case opServe:
		if len(n.w.cfg.Program.Listeners) > 0 && len(n.conns) < 50 {
			c := n.peer(n.accept(0, rv.ProtocolH2C))
			c.served, c.preface, c.notified = true, true, 1
			c.Out.Write(h2.AppendSettings([]byte(http2.ClientPreface)))
			n.w.Serve(0, &dial.Connection{FD: noFD + c.fd})
		}
		return
	}
	if c == nil {
		return
	}
	switch op {
	case opGreet:
		if !n.http1 {
			c.Out.Write(h2.AppendSettings(nil, http2.Setting{ID: http2.SettingID(n.take() % 9), Val: uint32(n.take()) << (n.take() % 32)}))
		}
	case opAnswer:
		n.answer(c, "")
	case opRedirect:
		n.answer(c, fuzzLocations[int(n.take())%len(fuzzLocations)])
	case opNotify:
		if c.served { // :method POST, :scheme http, :path /n
			c.Out.Write(h2.AppendHeaders(nil, c.notified, false, true, []byte{0x83, 0x86, 4, 2, '/', 'n'}))
			c.Out.Write(h2.AppendData(nil, c.notified, true, []byte("body")))
			c.notified += 2
		}
	case opRaw:
		size := min(int(n.take()), len(n.script))
		c.Out.Write(n.script[:size])
		n.script = n.script[size:]
	case opClose:
		c.Closed = true
	case opBreak:
		c.broken = syscall.ECONNRESET
		c.Out.Reset()
	case opGoAway:
		c.Out.Write(h2.AppendGoAway(nil, uint32(n.take()), http2.ErrCode(n.take()%16), ""))
	case opReset:
		c.Out.Write(h2.AppendRSTStream(nil, uint32(n.take()), http2.ErrCode(n.take()%16)))
	}
}

// peer returns that of a connection.
func (n *fuzzNet) peer(c *simConn) *fuzzPeer {
	for i := len(n.peers); i <= c.index; i++ {
		n.peers = append(n.peers, &fuzzPeer{simConn: n.conns[i]})
	}
	return n.peers[c.index]
}

// conn is the i-th of the connections that are open.
func (n *fuzzNet) conn(i byte) *fuzzPeer {
	var open []*simConn
	for _, c := range n.conns {
		if c.watching && !c.hungUp && !c.Closed && c.broken == nil {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return n.peer(open[int(i)%len(open)])
}

// answer ends the request that has waited longest with 200, or with 307 and a Location.
func (n *fuzzNet) answer(c *fuzzPeer, location string) {
	c.requests(n.http1 && !c.served)
	switch {
	case len(c.streams) == 0:
		return
	case n.http1 && !c.served && location != "":
		c.Out.WriteString("HTTP/1.1 307 Temporary Redirect\r\ncontent-length: 0\r\nset-cookie: a=b\r\nlocation: " + location + "\r\n\r\n")
	case n.http1 && !c.served:
		c.Out.WriteString("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
	case location != "": // :status and location with indexed names
		block := append([]byte{8, 3, '3', '0', '7', 0xf, 0x1f, byte(len(location))}, location...)
		c.Out.Write(h2.AppendHeaders(nil, c.streams[0], true, true, block))
	default:
		c.Out.Write(h2.AppendHeaders(nil, c.streams[0], false, true, []byte{0x88}))
		c.Out.Write(h2.AppendData(nil, c.streams[0], true, []byte("ok")))
	}
	c.streams = c.streams[1:]
}

// requests notes those among what the worker has sent.
func (c *fuzzPeer) requests(http1 bool) {
	for end := []byte("\r\n\r\n"); http1; c.streams = append(c.streams, 0) {
		i := bytes.Index(c.In.Bytes(), end)
		if i < 0 {
			return
		}
		c.In.Next(i + len(end))
	}
	if !c.preface {
		if c.In.Len() < len(http2.ClientPreface) {
			return
		}
		c.In.Next(len(http2.ClientPreface))
		c.preface = true
	}
	for c.In.Len() >= h2.FrameHeaderLen {
		h := c.In.Bytes()
		size := h2.FrameHeaderLen + int(binary.BigEndian.Uint32(append([]byte{0}, h[:3]...)))
		if c.In.Len() < size {
			return
		}
		if f := h2.ParseFrameHeader(c.In.Next(size)); f.Type == http2.FrameHeaders {
			c.streams = append(c.streams, f.StreamID)
		}
	}
}
