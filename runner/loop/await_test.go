package loop

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/listen"
)

// notifier is a peer that has opened a connection to the worker's first listener.
type notifier struct {
	b      *bench
	c      *simConn
	stream uint32
}

func (b *bench) newCaller() *notifier {
	c := b.accept(0, rv.ProtocolHTTP1) // which does not greet
	c.HTTP1, c.Preface, c.bad = false, true, true
	c.Out.WriteString(http2.ClientPreface)
	_ = http2.NewFramer(&c.Out, nil).WriteSettings()
	b.w.Serve(0, &dial.Connection{FD: noFD + c.fd})
	return &notifier{b: b, c: c, stream: 1}
}

func (c *notifier) notify(path, body string) {
	c.c.Block.Reset()
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "nf"}, {"x-kind", "event"}} {
		_ = c.c.Encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	fr := http2.NewFramer(&c.c.Out, nil)
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: c.c.Block.Bytes(), EndHeaders: true})
	_ = fr.WriteData(c.stream, true, []byte(body))
	c.stream += 2
}

// awaits is a plan whose instances subscribe with their number as path, await a notification for 100 ms, and send what it
// says. A slot starts an instance each 10 ms.
func awaits(n int64, change ...func(*rv.Plan)) *rv.Plan {
	rate := rv.Rate{Name: "r", Count: 100, Period: time.Second, Requests: n, ChainsPerSecond: true}
	number := rv.Part{Variable: 1}
	p := steps(rate,
		step("sub", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/sub/"}, number} }),
		rv.Step{
			Name: "wait", Timeout: 100 * time.Millisecond, Await: &rv.Await{Key: rv.Text{{Literal: "/n/"}, number}},
			Expect:  rv.Expect{Checks: []rv.Check{{Name: "kind", Source: &rv.Source{Kind: rv.SourceHeader, Name: "x-kind"}, Match: &rv.Match{Op: rv.MatchEquals, Want: lit("event")}}}},
			Capture: []rv.Capture{{Source: rv.Source{Kind: rv.SourceBody}}},
		},
		step("use", func(s *rv.Step) { s.Path = rv.Text{{Literal: "/use/"}, {Capture: 1}} }),
	)
	p.Chains[0].Captures = []string{"body"}
	p.Variables = []rv.Variable{{Name: "n", Counter: &rv.Counter{Step: 1}}}
	p.Listeners = []rv.Listener{{Name: "l", Status: 204, Retention: 200 * time.Millisecond}}
	p.Rates = append(p.Rates, rv.Rate{Name: "rest", Count: 0, Period: time.Second, Duration: time.Second, ChainsPerSecond: true})
	for _, f := range change {
		f(p)
	}
	return p
}

func TestAwait(t *testing.T) {
	key := func(pointer string) func(*rv.Plan) {
		return func(p *rv.Plan) {
			p.Listeners[0].Pointer = pointer
			p.Chains[0].Steps[1].Await.Key = rv.Text{{Variable: 1}}
		}
	}
	both := func(p *rv.Plan) {
		p.Listeners[0].Pointer, p.Listeners[0].ByPath = "/event", true
		p.Chains[0].Steps[1].Await.Key = rv.Text{{Literal: "/n/"}, {Variable: 1}, {Literal: " END"}}
	}
	check := func(want string) func(*rv.Plan) {
		return func(p *rv.Plan) { p.Chains[0].Steps[1].Expect.Checks[0].Match.Want = lit(want) }
	}
	warmUp := func(p *rv.Plan) { p.Rates[0].WarmUp = true }
	tests := map[string]struct {
		plan *rv.Plan
		// after are the times from the request of an instance until its notifications.
		after []time.Duration
		path  func(n string) string
		body  func(n string) string
		want  rv.ListenerCounts // of 3 instances
		time  time.Duration
		trace string
		chain string
	}{
		"in time": {
			plan: awaits(3), after: []time.Duration{30 * time.Millisecond},
			want: rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}, time: 30 * time.Millisecond,
			trace: "0 /sub/0, 10 /sub/1, 20 /sub/2, 30 /use/b0, 40 /use/b1, 50 /use/b2", chain: "3 3 0",
		},
		"before the response to the request": {
			plan: awaits(3), after: []time.Duration{2 * time.Millisecond},
			want: rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}, time: 2 * time.Millisecond,
			trace: "0 /sub/0, 5 /use/b0, 10 /sub/1, 15 /use/b1, 20 /sub/2, 25 /use/b2", chain: "3 3 0",
		},
		"twice": {
			plan: awaits(3), after: []time.Duration{30 * time.Millisecond, 60 * time.Millisecond},
			want: rv.ListenerCounts{Received: 6, InTime: 3, Duplicate: 3, Awaited: 3}, time: 30 * time.Millisecond,
			trace: "0 /sub/0, 10 /sub/1, 20 /sub/2, 30 /use/b0, 40 /use/b1, 50 /use/b2", chain: "3 3 0",
		},
		"twice before the response": {
			plan: awaits(3), after: []time.Duration{time.Millisecond, 2 * time.Millisecond},
			want: rv.ListenerCounts{Received: 6, InTime: 3, Duplicate: 3, Awaited: 3}, time: time.Millisecond,
			trace: "0 /sub/0, 5 /use/b0, 10 /sub/1, 15 /use/b1, 20 /sub/2, 25 /use/b2", chain: "3 3 0",
		},
		"never": {
			plan: awaits(3),
			want: rv.ListenerCounts{Awaited: 3, Missing: 3}, trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "3 0 3",
		},
		"late": {
			plan: awaits(3), after: []time.Duration{106 * time.Millisecond},
			want: rv.ListenerCounts{Received: 3, Late: 3, Awaited: 3, Missing: 3}, trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "3 0 3",
		},
		"just not late": {
			plan: awaits(3), after: []time.Duration{104 * time.Millisecond},
			want: rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}, time: 104 * time.Millisecond,
			trace: "0 /sub/0, 10 /sub/1, 20 /sub/2, 104 /use/b0, 114 /use/b1, 124 /use/b2", chain: "3 3 0",
		},
		"of another path": {
			plan: awaits(3), after: []time.Duration{30 * time.Millisecond}, path: func(n string) string { return "/x/" + n },
			want: rv.ListenerCounts{Received: 3, Unexpected: 3, Awaited: 3, Missing: 3}, trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "3 0 3",
		},
		"with a query": {
			plan: awaits(3), after: []time.Duration{30 * time.Millisecond}, path: func(n string) string { return "/n/" + n + "?a=b" },
			want: rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}, time: 30 * time.Millisecond,
			trace: "0 /sub/0, 10 /sub/1, 20 /sub/2, 30 /use/b0, 40 /use/b1, 50 /use/b2", chain: "3 3 0",
		},
		"by a value of the body": {
			plan: awaits(3, key("/id")), after: []time.Duration{30 * time.Millisecond}, body: func(n string) string { return `{"id":"` + n + `"}` },
			want: rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}, time: 30 * time.Millisecond,
			trace: `0 /sub/0, 10 /sub/1, 20 /sub/2, 30 /use/{"id":"0"}, 40 /use/{"id":"1"}, 50 /use/{"id":"2"}`, chain: "3 3 0",
		},
		"by the path and a value": {
			plan: awaits(3, both), after: []time.Duration{30 * time.Millisecond}, body: func(string) string { return `{"event":"END"}` },
			want: rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}, time: 30 * time.Millisecond,
			trace: `0 /sub/0, 10 /sub/1, 20 /sub/2, 30 /use/{"event":"END"}, 40 /use/{"event":"END"}, 50 /use/{"event":"END"}`, chain: "3 3 0",
		},
		"of the path with another value": {
			plan: awaits(3, both), after: []time.Duration{30 * time.Millisecond}, body: func(string) string { return `{"event":"BEGIN"}` },
			want: rv.ListenerCounts{Received: 3, Unexpected: 3, Awaited: 3, Missing: 3}, trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "3 0 3",
		},
		"of the path without the value": {
			plan: awaits(3, both), after: []time.Duration{30 * time.Millisecond},
			want: rv.ListenerCounts{Received: 3, Unexpected: 3, Awaited: 3, Missing: 3}, trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "3 0 3",
		},
		"without the value": {
			plan: awaits(3, key("/id")), after: []time.Duration{30 * time.Millisecond},
			want: rv.ListenerCounts{Received: 3, Unexpected: 3, Awaited: 3, Missing: 3}, trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "3 0 3",
		},
		"that fails a check": {
			plan: awaits(3, check("other")), after: []time.Duration{30 * time.Millisecond},
			want: rv.ListenerCounts{Received: 3, InTime: 3, FailedChecks: 3, Awaited: 3}, time: 30 * time.Millisecond,
			trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "3 0 3",
		},
		"never, in a warm-up": {
			plan: awaits(3, warmUp),
			want: rv.ListenerCounts{Awaited: 3, Missing: 3}, trace: "0 /sub/0, 10 /sub/1, 20 /sub/2", chain: "0 0 0",
		},
		"in time, in a warm-up": {
			plan: awaits(1, warmUp), after: []time.Duration{30 * time.Millisecond},
			want: rv.ListenerCounts{Received: 1, InTime: 1, Awaited: 1}, trace: "0 /sub/0, 30 /use/b0", chain: "0 0 0",
		},
		"never, and the chain continues": {
			plan: awaits(1, func(p *rv.Plan) { p.Chains[0].Steps[1].OnFailure.Continue = true }),
			want: rv.ListenerCounts{Awaited: 1, Missing: 1}, trace: "0 /sub/0, 105 /use/", chain: "1 1 0",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var b *bench
			var peer *notifier
			b = newBench(t, tt.plan, func(r *simRequest) reply {
				if n, ok := strings.CutPrefix(r.Fields[":path"], "/sub/"); ok {
					path, body := "/n/"+n, "b"+n
					if tt.path != nil {
						path = tt.path(n)
					}
					if tt.body != nil {
						body = tt.body(n)
					}
					for _, after := range tt.after {
						b.in(after, func() { peer.notify(path, body) })
					}
				}
				return reply{After: 5 * time.Millisecond, Status: 200}
			})
			b.onStart = append(b.onStart, func() { peer = b.newCaller() })
			b.run()
			got := b.w.Read().Listeners[0]
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
			measured := rv.AwaitCounts{Awaited: tt.want.Awaited, InTime: tt.want.InTime, FailedChecks: tt.want.FailedChecks, Missing: tt.want.Missing}
			if tt.plan.Rates[0].WarmUp {
				measured = rv.AwaitCounts{}
			}
			if diff := cmp.Diff(measured, b.w.rec.Listeners[0].AwaitCounts); diff != "" {
				t.Errorf("measured (-want +got):\n%s", diff)
			}
			times := &b.w.rec.Listeners[0].Time
			if times.Count() != measured.InTime || measured.InTime > 0 && (times.Min() != tt.time.Microseconds() || times.Max() != tt.time.Microseconds()) {
				t.Errorf("%d times from %d to %d us; want %v", times.Count(), times.Min(), times.Max(), tt.time)
			}
			sent, answered := b.exchanged()
			if trace := strings.Join(sent, ", "); trace != tt.trace {
				t.Errorf("sent %s\nwant %s", trace, tt.trace)
			}
			if answered["204"] != int(got.Received) {
				t.Errorf("answered %v of %d notifications", answered, got.Received)
			}
			c := &b.w.rec.Chains[0]
			if got := fmt.Sprint(c.Started, c.Completed, c.Aborted); got != tt.chain {
				t.Errorf("chains %s; want %s", got, tt.chain)
			}
		})
	}
}

// exchanged returns the trace of the worker's requests, and the numbers of its responses to notifications by status.
func (b *bench) exchanged() (sent []string, answered map[string]int) {
	answered = map[string]int{}
	requests := b.served[:0:0]
	for _, r := range b.served {
		if s := r.Fields[":status"]; s != "" {
			answered[s]++
		} else {
			requests = append(requests, r)
		}
	}
	b.served = requests
	return b.trace(), answered
}

// TestNotificationsOfOneKey: instances that await the same path receive one notification each, also if these come before the
// responses: one that came since the instance began. What is left is a duplicate.
func TestNotificationsOfOneKey(t *testing.T) {
	for name, tt := range map[string]struct {
		response time.Duration
		after    []time.Duration
		want     rv.ListenerCounts
	}{
		"one after another": {5 * time.Millisecond, []time.Duration{2 * time.Millisecond}, rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}},
		"one after another, once more for each": {
			5 * time.Millisecond, []time.Duration{2 * time.Millisecond, 4 * time.Millisecond},
			rv.ListenerCounts{Received: 6, InTime: 3, Duplicate: 3, Awaited: 3},
		},
		"at a time": {35 * time.Millisecond, []time.Duration{2 * time.Millisecond}, rv.ListenerCounts{Received: 3, InTime: 3, Awaited: 3}},
		"once more for each": {
			35 * time.Millisecond, []time.Duration{2 * time.Millisecond, 3 * time.Millisecond},
			rv.ListenerCounts{Received: 6, InTime: 3, Duplicate: 3, Awaited: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := awaits(3)
			p.Chains[0].Steps[1].Await.Key = lit("/n")
			var b *bench
			var peer *notifier
			b = newBench(t, p, func(r *simRequest) reply {
				if strings.HasPrefix(r.Fields[":path"], "/sub/") {
					for _, after := range tt.after {
						b.in(after, func() { peer.notify("/n", "") })
					}
				}
				return reply{After: tt.response, Status: 200}
			})
			b.onStart = append(b.onStart, func() { peer = b.newCaller() })
			b.run()
			if diff := cmp.Diff(tt.want, b.w.Read().Listeners[0]); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
			if times := &b.w.rec.Listeners[0].Time; times.Min() != 2000 || times.Max() != 2000 {
				t.Errorf("times from %d to %d us, want 2 ms", times.Min(), times.Max())
			}
		})
	}
}

// TestDrainIgnoresOtherNotifications: a target that continues to notify does not keep the worker from its end.
func TestDrainIgnoresOtherNotifications(t *testing.T) {
	for name, path := range map[string]string{"that no step awaited": "/n/other/", "that steps received": "/n/"} {
		t.Run(name, func(t *testing.T) {
			p := awaits(3)
			p.Deadline = time.Minute
			b := newBench(t, p, ok(5*time.Millisecond))
			sent := int64(0)
			b.onStart = append(b.onStart, func() {
				peer := b.newCaller()
				var again func()
				again = func() {
					if peer.notify(fmt.Sprint(path, sent%3), ""); !peer.c.hungUp {
						sent++
						b.in(50*time.Millisecond, again)
					}
				}
				again()
			})
			b.run()
			if took := time.Duration(b.clock - b.w.Read().EndedAt); took > 310*time.Millisecond {
				t.Errorf("the worker ended %v after the load, want at most the timeout of the step and keep", took)
			}
			got := b.w.Read().Listeners[0]
			if got.Received == 0 || got.Received != got.InTime+got.Late+got.Duplicate+got.Unexpected || got.Awaited != got.InTime+got.Missing {
				t.Errorf("%d were sent; counters %+v", sent, got)
			}
		})
	}
}

// TestListenerEnds: a worker that is stopped has ended the waits, and counts them.
func TestListenerEnds(t *testing.T) {
	p := awaits(3)
	p.Chains[0].Steps[1].Timeout = time.Hour
	b := newBench(t, p, ok(5*time.Millisecond))
	b.onStart = append(b.onStart, func() {
		b.newCaller().notify("/n/other", "")
		b.in(200*time.Millisecond, func() { b.w.Do(func(w *Worker) { w.Stop(false) }) })
	})
	b.run()
	want := rv.ListenerCounts{Received: 1, Unexpected: 1, Awaited: 3, WaitingAtEnd: 3}
	if diff := cmp.Diff(want, b.w.Read().Listeners[0]); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	if m := b.w.rec.Listeners[0].AwaitCounts; m != (rv.AwaitCounts{Awaited: 3}) || m.Waiting() != 3 {
		t.Errorf("measured %+v", m)
	}
	for i, c := range b.conns {
		if !c.hungUp {
			t.Errorf("connection %d is open", i)
		}
	}
}

// TestListenerServesNoneAtTheEnd: a connection that reaches the worker while it ends is closed, and nothing of it is counted.
func TestListenerServesNoneAtTheEnd(t *testing.T) {
	b := newBench(t, awaits(1), ok(time.Millisecond))
	late := -1
	b.closed = func() {
		if late < 0 { // the worker closes its connections, before it refuses messages
			b.newCaller().notify("/n/0", "")
			late = len(b.conns) - 1
		}
	}
	b.run()
	if late < 0 || b.conns[late].watching {
		t.Errorf("connection %d was served", late)
	}
	if got := b.w.Read().Listeners[0]; got.Received != 0 {
		t.Errorf("counters %+v", got)
	}
}

// TestTimeWithoutARequest: the time of a notification is from the begin of its instance if no request is before it.
func TestTimeWithoutARequest(t *testing.T) {
	p := awaits(2)
	p.Chains[0].Captures = []string{"body"}
	p.Chains[0].Steps[0].When = equals(1, "never")
	var b *bench
	var peer *notifier
	b = newBench(t, p, ok(time.Millisecond))
	b.onStart = append(b.onStart, func() {
		peer = b.newCaller()
		for i := range 2 {
			b.in(time.Duration(b.startAt-b.clock)+time.Duration(i)*10*time.Millisecond+7*time.Millisecond, func() { peer.notify(fmt.Sprint("/n/", i), "") })
		}
	})
	b.run()
	if h := &b.w.rec.Listeners[0].Time; h.Count() != 2 || h.Max() != 7000 {
		t.Errorf("%d notifications, the longest time is %d us, want 7000", h.Count(), h.Max())
	}
}

// TestListenerRefuses: a peer that speaks HTTP/1.1 gets a response in HTTP/1.1, and one that breaks the protocol the reason.
func TestListenerRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"HTTP/1.1":    {"POST /n/1 HTTP/1.1\r\nhost: x\r\n\r\n", "HTTP/1.1 505 "},
		"a bad frame": {http2.ClientPreface + "\x00\x00\x01\x04\x00\x00\x00\x00\x00\x00", "\x07\x00\x00\x00\x00\x00"}, // SETTINGS of one octet; GOAWAY
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, awaits(1), ok(time.Millisecond))
			var c *simConn
			b.onStart = append(b.onStart, func() {
				c = b.newCaller().c
				c.Out.Reset()
				c.Out.WriteString(tt.in)
				c.raw = true
			})
			b.run()
			if got := c.In.String(); !strings.Contains(got, tt.want) || !c.hungUp {
				t.Errorf("the peer got %q, closed: %v; want %q and the end", got, c.hungUp, tt.want)
			}
		})
	}
}

// TestListenerBoundsConnections: a worker serves a limited number of connections, and others after these have ended.
func TestListenerBoundsConnections(t *testing.T) {
	b := newBench(t, awaits(1), ok(time.Millisecond))
	var last, later *simConn
	b.onStart = append(b.onStart, func() {
		first := b.newCaller().c
		for range listen.MaxServed {
			last = b.newCaller().c
		}
		b.in(50*time.Millisecond, func() { first.Closed = true })
		b.in(60*time.Millisecond, func() { later = b.newCaller().c })
	})
	b.run()
	if last.watching || !later.watching {
		t.Errorf("served beyond the limit: %v; served after one had ended: %v", last.watching, later.watching)
	}
}

// TestListenerClosesSilentConnections: of the most connections that a worker serves, the one that has been silent longest makes place for
// another one. Those that have sent something a short time ago stay.
func TestListenerClosesSilentConnections(t *testing.T) {
	b := newBench(t, awaits(1, func(p *rv.Plan) { p.Rates[1].Duration = 20 * time.Second }), ok(time.Millisecond))
	var all []*notifier
	var others []*simConn
	open := func() {
		other := b.newCaller()
		other.notify("/n/x", "")
		others = append(others, other.c)
	}
	b.onStart = append(b.onStart, func() {
		for i := range listen.MaxServed {
			b.in(time.Duration(i)*time.Microsecond, func() { all = append(all, b.newCaller()) })
		}
		b.in(time.Second, func() { all[0].head(1, manyFields(1), false) }) // and no end
		b.in(2*time.Second, func() { all[1].notify("/n/x", "") })
		b.in(4*time.Second, open)
		b.in(5500*time.Millisecond, func() {
			for range 3 {
				open()
			}
		})
		b.in(7*time.Second, func() {
			for _, c := range all[2:] {
				_ = http2.NewFramer(&c.c.Out, nil).WritePing(false, [8]byte{})
			}
		})
		b.in(8*time.Second, func() { open(); open() })
		b.in(9*time.Second, func() { b.w.Do(func(w *Worker) { w.Stop(false) }) })
	})
	var closed []int // before the worker ends
	b.everyTurn = func() {
		for i, c := range all {
			if c.c.hungUp && !slices.Contains(closed, i) && b.clock-b.startAt < int64(9*time.Second-20*time.Millisecond) {
				closed = append(closed, i)
				if !c.c.Goodbye {
					t.Errorf("connection %d was closed without GOAWAY", i)
				}
			}
		}
	}
	b.run()
	if diff := cmp.Diff([]int{2, 3, 4, 0, 1}, closed); diff != "" {
		t.Errorf("closed connections (-want +got):\n%s", diff)
	}
	var served []bool
	for _, c := range others {
		served = append(served, c.watching)
	}
	if diff := cmp.Diff([]bool{false, true, true, true, true, true}, served); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
	if got := b.w.Read().Listeners[0]; got.Received != 6 {
		t.Errorf("counters %+v, want all notifications of connections that were served", got)
	}
}

// TestListenerBoundsNotifications: notifications that do not end, and those that no step awaits, take a limited part of the heap. Others
// are received after them.
func TestListenerBoundsNotifications(t *testing.T) {
	for name, tt := range map[string]struct {
		// n are the notifications. They have fields of one octet, and a body in pieces of 16 KiB.
		n, fields, pieces int
		whole             bool
		// most and least are how much of the limit they take, in percent.
		most, least int
	}{
		"without an end, small fields":     {n: 8000, fields: 1900, most: 115, least: 85},
		"without an end, bodies":           {n: 1000, pieces: 12, most: 115, least: 85},
		"without an end, both":             {n: 1000, fields: 1000, pieces: 6, most: 115, least: 85},
		"that no step awaits, small":       {n: 18000, fields: 10, whole: true, most: 60, least: 10},
		"that no step awaits, many fields": {n: 6000, fields: 1900, whole: true, most: 115, least: 70},
		"that no step awaits, bodies":      {n: 1000, fields: 10, pieces: 8, whole: true, most: 115, least: 85},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, awaits(1, func(p *rv.Plan) { p.Listeners[0].Retention, p.Rates[1].Duration = 5*time.Second, 10*time.Second }), ok(time.Millisecond))
			var before, during, after int64
			b.onStart = append(b.onStart, func() {
				peers := make([]*notifier, 20)
				for i := range peers {
					peers[i] = b.newCaller()
					peers[i].c.raw = true
				}
				before = b.heap()
				head := manyFields(tt.fields)
				for i := range tt.n {
					b.in(time.Duration(i)*50*time.Microsecond, func() { peers[i%20].head(uint32(2*(i/20)+1), head, tt.whole && tt.pieces == 0) })
				}
				for k := range tt.pieces {
					for i := range tt.n {
						b.in(time.Second+time.Duration(k*tt.n+i)*50*time.Microsecond, func() { peers[i%20].piece(uint32(2*(i/20)+1), tt.whole && k == tt.pieces-1) })
					}
				}
				b.in(2*time.Second, func() { during = b.heap() })
				b.in(2500*time.Millisecond, func() {
					for _, p := range peers {
						p.c.Closed = true
					}
				})
				for s := range 3 * time.Second / time.Second {
					b.in((6+s)*time.Second, func() { b.newCaller().notify("/n/x", "") }) // the worker wakes up
				}
				b.in(9*time.Second, func() { after = b.heap() })
			})
			b.run()
			if took := 100 * (during - before) / listen.MaxIncoming; took > int64(tt.most) || took < int64(tt.least) {
				t.Errorf("the notifications took %d%% of the limit, want %d to %d%%", took, tt.least, tt.most)
			}
			if left := 100 * (after - before) / listen.MaxIncoming; left > 15 {
				t.Errorf("%d%% of the limit are left after the last one", left)
			}
			if got := b.w.Read().Listeners[0]; got.Received < 3 || got.Unexpected+got.Duplicate != got.Received {
				t.Errorf("counters %+v", got)
			}
		})
	}
}

// manyFields is a header block whose fields have one octet each. HPACK needs one octet for a field that is repeated.
func manyFields(n int) []byte {
	block := []byte{0x83, 0x86, 4, 2, '/', 'n', 0x40, 1, 'x', 0} // POST http /n; x, indexed
	return append(block, bytes.Repeat([]byte{0xbe}, n)...)
}

// head sends a header block. It is the beginning of a notification, or all of it.
func (c *notifier) head(stream uint32, block []byte, end bool) {
	_ = http2.NewFramer(&c.c.Out, nil).WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndHeaders: true, EndStream: end})
}

// piece sends 16 KiB of the body of a notification.
func (c *notifier) piece(stream uint32, end bool) {
	_ = http2.NewFramer(&c.c.Out, nil).WriteData(stream, end, make([]byte, 16<<10))
}

// heap returns what is live, without the buffers of the peers.
func (b *bench) heap() int64 {
	for _, c := range b.conns {
		if c.raw || c.In.Len() == 0 {
			c.In = bytes.Buffer{}
		}
		if c.Out.Len() == 0 {
			c.Out = bytes.Buffer{}
		}
	}
	b.served = nil
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the first one ran finalizers
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestListenerHead: the response to HEAD has no content.
func TestListenerHead(t *testing.T) {
	p := awaits(1)
	p.Listeners[0].Status, p.Listeners[0].Body = 200, "content"
	b := newBench(t, p, ok(time.Millisecond))
	var c *simConn
	b.onStart = append(b.onStart, func() {
		peer := b.newCaller()
		c = peer.c
		c.Block.Reset()
		for _, f := range [][2]string{{":method", "HEAD"}, {":scheme", "http"}, {":path", "/n/0"}, {":authority", "nf"}} {
			_ = c.Encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		_ = http2.NewFramer(&c.Out, nil).WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.Block.Bytes(), EndHeaders: true, EndStream: true})
	})
	b.run()
	i := slices.IndexFunc(b.served, func(r *simRequest) bool { return r.Fields[":status"] == "200" })
	if i < 0 || len(b.served[i].Body) > 0 || b.served[i].Fields["content-length"] != "7" {
		t.Errorf("response %d of %+v", i, b.served)
	}
}

// TestListenerOfASilentPeer: a peer that sends and reads nothing is disconnected, before its responses fill the memory.
func TestListenerOfASilentPeer(t *testing.T) {
	b := newBench(t, awaits(1), ok(time.Millisecond))
	var c *simConn
	b.onStart = append(b.onStart, func() {
		c = b.newCaller().c
		c.full = true
		fr := http2.NewFramer(&c.Out, nil)
		for range 100_000 { // 17 octets each, and so are the responses
			_ = fr.WritePing(false, [8]byte{})
		}
	})
	b.run()
	if !c.hungUp || c.Out.Len() == 0 {
		t.Errorf("closed: %v, %d octets were not read; want the end before the last octet", c.hungUp, c.Out.Len())
	}
}
