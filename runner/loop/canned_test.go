package loop

import (
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
)

// canned is a network whose peer answers each request at once, without allocating and almost
// without work: what remains is the engine's own cost. A request with a body gets 201 and a
// Location, one without gets 200.
type canned struct {
	clock int64
	conns []*cannedConn
	// created is the answer to a request with a body; nil: cannedCreated.
	created []byte
}

type cannedConn struct {
	data    int32
	out     []byte
	greeted bool
	// taken counts DATA bytes since the last WINDOW_UPDATE.
	taken uint32
}

var (
	cannedSettings = []byte{0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0x80, 0, 0}
	cannedWindow   = []byte{0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	cannedOK       = []byte{0, 0, 1, 1, 5, 0, 0, 0, 0, 0x88}
	// :status 201 as a literal with an indexed name, location as a literal, not indexed.
	cannedCreated = append([]byte{0, 0, 21, 1, 5, 0, 0, 0, 0, 0x08, 3, '2', '0', '1', 0x0f, 0x1f, 13}, "/sessions/123"...)
)

func (n *canned) Now() int64        { n.clock += 1000; return n.clock }
func (n *canned) Wake()             {}
func (n *canned) Nap(time.Duration) {}
func (n *canned) Adopt(c *dial.Connection, data int32) (int, error) {
	n.conns[c.FD].data = data
	return c.FD, nil
}
func (n *canned) Interest(int, int32, bool) error { return nil }
func (*canned) Why() error                        { return nil }

func (n *canned) Close(int)                                            {}
func (n *canned) Connect(string, bool) (*dial.Connection, bool, error) { return nil, false, nil }
func (n *canned) Dial(r netio.Attempt) {
	n.conns = append(n.conns, &cannedConn{out: append(make([]byte, 0, 1<<20), cannedSettings...)})
	r.Progress(dial.Connecting)
	r.Connected(&dial.Connection{FD: len(n.conns) - 1}, nil)
}

func (n *canned) Wait(out []netio.Event, _ time.Duration) (int, bool, error) {
	got := 0
	for _, c := range n.conns {
		if len(c.out) > 0 {
			out[got] = netio.Event{Data: c.data, Readable: true}
			got++
		}
	}
	return got, true, nil
}

func (n *canned) Read(fd int, b []byte) (int, netio.Status) {
	c := n.conns[fd]
	k := copy(b, c.out)
	c.out = c.out[:copy(c.out, c.out[k:])]
	return k, netio.OK
}

func (n *canned) Send(fd int, b []byte) (int, netio.Status) {
	c := n.conns[fd]
	sent := len(b)
	if !c.greeted {
		b, c.greeted = b[24:], true
	}
	for len(b) > 0 { // the engine sends whole frames, and here all of them are taken
		size := 9 + int(b[0])<<16 + int(b[1])<<8 + int(b[2])
		if ended := b[4]&1 != 0; ended && b[3] <= 1 {
			reply := cannedOK
			if b[3] == 0 {
				if reply = cannedCreated; n.created != nil {
					reply = n.created
				}
			}
			at := len(c.out)
			c.out = append(c.out, reply...)
			binary.BigEndian.PutUint32(c.out[at+5:], binary.BigEndian.Uint32(b[5:]))
		}
		if b[3] == 0 {
			c.taken += uint32(size - 9)
		}
		b = b[size:]
	}
	if c.taken > 1<<20 {
		at := len(c.out)
		c.out = append(c.out, cannedWindow...)
		binary.BigEndian.PutUint32(c.out[at+9:], c.taken)
		c.taken = 0
	}
	return sent, netio.OK
}

// shortNet is a canned network with HTTP/1.1 and one request for each connection.
type shortNet struct {
	canned
	// free are the numbers of closed connections.
	free []int
	// ended: the peer ends the connection with the response.
	ended bool
	// made is the result of the last Connect.
	made dial.Connection
}

const shortResponse = "HTTP/1.1 200 OK\r\nserver: canned\r\ncontent-length: 2\r\n\r\nok"

func (n *shortNet) Dial(r netio.Attempt) {
	next, _, _ := n.Connect("", true)
	c := *next // the next call changes it
	r.Progress(dial.Connecting)
	c.Protocol = rv.ProtocolHTTP1
	r.Connected(&c, nil)
}

func (n *shortNet) Connect(string, bool) (*dial.Connection, bool, error) {
	k := len(n.free) - 1
	if k < 0 {
		n.free, k = append(n.free, len(n.conns)), 0
		n.conns = append(n.conns, &cannedConn{out: make([]byte, 0, 1<<10)})
	}
	n.made = dial.Connection{FD: n.free[k]}
	n.free = n.free[:k]
	return &n.made, true, nil
}

func (n *shortNet) Close(fd int) {
	n.conns[fd].out = n.conns[fd].out[:0]
	n.free = append(n.free, fd)
}

func (n *shortNet) Wait(out []netio.Event, d time.Duration) (int, bool, error) {
	got, woken, err := n.canned.Wait(out, d)
	for i := range got {
		out[i].Ended = n.ended
	}
	return got, woken, err
}

func (n *shortNet) Send(fd int, b []byte) (int, netio.Status) {
	n.conns[fd].out = append(n.conns[fd].out, shortResponse...)
	return len(b), netio.OK
}

// cannedChain is a POST with a 300-byte body and a capture, then a PATCH and a DELETE of it.
func cannedChain() *rv.Plan {
	p := gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour})
	p.Targets[0].Connections, p.Targets[0].MaxConcurrentStreams = 4, 64
	p.Variables = []rv.Variable{{Name: "ue", Range: &rv.Range{Start: 0, End: 1e9, Step: 1, Width: 10}}}
	body := rv.Text{{Literal: string(make([]byte, 290))}, {Variable: 1}}
	json := []rv.Header{{Name: rv.Text{{Literal: "content-type"}}, Value: rv.Text{{Literal: "application/json"}}}}
	session := rv.Text{{Capture: 1}}
	p.Chains = []rv.Chain{{Name: "life", Weight: 1, Captures: []string{"session"}, Steps: []rv.Step{
		{Name: "create", Method: "POST", Path: rv.Text{{Literal: "/sessions"}}, Headers: json, Body: body, Timeout: time.Hour, Capture: []rv.Capture{{Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}, Location: true}}, Expect: rv.Expect{Status: []rv.StatusRange{{From: 201, To: 201}}}},
		{Name: "update", Method: "PATCH", Path: session, Headers: json, Body: body, Timeout: time.Hour},
		{Name: "delete", Method: "DELETE", Path: session, Timeout: time.Hour},
	}}}
	return p
}

// cannedWorker has sent some requests already, so that its buffers have grown.
func cannedWorker(tb testing.TB, p *rv.Plan, n interface {
	netio.Net
	netio.Dialer
}) *Worker {
	tb.Helper()
	w := newCannedWorker(tb, p, n)
	warm(tb, w)
	return w
}

func newCannedWorker(tb testing.TB, p *rv.Plan, n interface {
	netio.Net
	netio.Dialer
}) *Worker {
	tb.Helper()
	g, err := chain.Load(p, chain.Resources{})
	if err != nil {
		tb.Fatal(err)
	}
	w, err := New(Config{Program: g, Rates: p.Rates, Selections: selected(p), Share: split.Whole(p), MaxWait: p.Drain, Net: n, Dialer: n, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	w.conns.OpenNew(&w.targets, &w.cfg.Share)
	w.Start(1, nil)
	return w
}

// warm takes turns until the worker is in its steady state: it sends requests, and the number of them in flight does not rise.
func warm(tb testing.TB, w *Worker) {
	tb.Helper()
	const turns = 100
	take(tb, w, 4*turns)
	most, from := w.requests.Len(), sent(w)
	take(tb, w, turns)
	if n := sent(w) - from; n < turns || w.requests.Len() != most || w.rec.Steps[0].Succeeded == 0 || w.requests.InUse() == 0 {
		tb.Fatalf("%d requests in %d turns, %d in flight, at most %d, before at most %d", n, turns, w.requests.InUse(), w.requests.Len(), most)
	}
}

// take takes turns.
func take(tb testing.TB, w *Worker, turns int) {
	tb.Helper()
	for range turns {
		if err := w.turn(); err != nil {
			tb.Fatal(err)
		}
	}
}

func sent(w *Worker) (n int64) {
	for i := range w.rec.Steps {
		n += w.rec.Steps[i].Sent
	}
	return n
}

// cannedStatus is a response with grpc-status 0.
var cannedStatus = append(append([]byte{0, 0, 16, 1, 5, 0, 0, 0, 0, 0x88, 0, 11}, "grpc-status"...), 1, '0')

// cannedCall is cannedChain with a call of gRPC.
func cannedCall(call rv.GRPC) *rv.Plan {
	p := cannedChain()
	p.Targets[0].Protos = []rv.Content{{Text: `syntax = "proto3"; message M { int64 id = 1; M next = 2; string name = 3; }
service S { rpc Call(M) returns (M); rpc Both(stream M) returns (stream M); }`}}
	p.Chains[0].Captures, call.Service = nil, "S"
	p.Chains[0].Steps = []rv.Step{{Name: "call", Method: "POST", Path: lit("/S/" + call.Method), Timeout: time.Hour, GRPC: &call}}
	return p
}

// BenchmarkEngine is the cost of a request without a kernel. Run it with
//
//	go test -run - -bench Engine -count 6 ./runner/loop | benchstat -
func BenchmarkEngine(b *testing.B) {
	for _, tt := range []struct {
		name    string
		plan    *rv.Plan
		created []byte
	}{
		{"get", gets(rv.Rate{Name: "r", ClosedLoop: true, Duration: time.Hour}), nil},
		{"chain", cannedChain(), nil},
		{"call", cannedCall(rv.GRPC{Method: "Call", Messages: []rv.Text{{{Literal: `{"id":"5"}`}}}}), cannedStatus},
	} {
		b.Run(tt.name, func(b *testing.B) {
			w := cannedWorker(b, tt.plan, &canned{clock: 1, created: tt.created})
			from := sent(w)
			b.ReportAllocs()
			b.ResetTimer()
			for sent(w)-from < int64(b.N) {
				if err := w.turn(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
