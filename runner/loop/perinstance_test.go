package loop

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/h2"
)

// TestPerInstance: each chain instance has a connection that carries its requests and no others, and that closes when
// it ends.
func TestPerInstance(t *testing.T) {
	together := func(s *rv.Step) { s.Group = 1 }
	for name, plan := range map[string]func() *rv.Plan{
		"one after another": func() *rv.Plan { return steps(perSecond(300, time.Second), step("a"), step("b"), step("c")) },
		"parallel": func() *rv.Plan {
			return steps(perSecond(300, time.Second), step("a"), step("b", together), step("c", together))
		},
		"closed loop": func() *rv.Plan {
			return steps(rv.Rate{Name: "r", ClosedLoop: true, Count: 5, Requests: 300}, step("a"), step("b"), step("c"))
		},
	} {
		for _, protocol := range []rv.Protocol{rv.ProtocolH2C, rv.ProtocolHTTP1} {
			t.Run(fmt.Sprint(name, " ", protocol), func(t *testing.T) {
				p := plan()
				p.Targets[0].Connections, p.Targets[0].Protocol = 5, protocol
				p.Targets[0].Connecting = rv.Connecting{OnDemand: true, PerInstance: true}
				b := newBench(t, p, ok(time.Millisecond))
				got := b.run()
				if got.Done != 300 || len(b.conns) != 100 {
					t.Errorf("%d requests are done over %d connections, want 300 over 100", got.Done, len(b.conns))
				}
				on := map[int]string{}
				for _, r := range b.served {
					on[r.Conn] += r.Fields[":path"]
				}
				for _, paths := range on {
					if paths != "/a/b/c" && paths != "/a/c/b" {
						t.Fatalf("a connection carried %s", paths)
					}
				}
				if r := b.w.rec; r.Connects != 100 || r.Reconnects != 0 {
					t.Errorf("%d connects, %d of them to connect again, want 100, 0", r.Connects, r.Reconnects)
				}
			})
		}
	}
}

// TestPerInstanceAfterLoss: an instance whose connection ends continues on another one.
func TestPerInstanceAfterLoss(t *testing.T) {
	p := steps(perSecond(20, time.Second), step("a"), step("b"))
	p.Targets[0].Connections = 1
	p.Targets[0].Connecting = rv.Connecting{OnDemand: true, PerInstance: true, MaxRequests: 1}
	b := newBench(t, p, ok(time.Millisecond))
	if got := b.run(); got.Done != 20 || len(b.conns) != 20 {
		t.Errorf("%d requests are done over %d connections, want 20 over 20", got.Done, len(b.conns))
	}
}

// TestPerInstanceOfMaxRequests: a connection that may carry the requests of one instance has no successor before
// another instance needs one.
func TestPerInstanceOfMaxRequests(t *testing.T) {
	p := steps(perSecond(2, time.Second), step("a"), step("b"))
	p.Targets[0].Connections = 1
	p.Targets[0].Connecting = rv.Connecting{OnDemand: true, PerInstance: true, MaxRequests: 2}
	b := newBench(t, p, ok(time.Millisecond))
	if got := b.run(); got.Done != 2 || b.w.rec.Connects != 1 {
		t.Errorf("%d requests are done, %d connects; want 2 and 1", got.Done, b.w.rec.Connects)
	}
}

// TestPerInstanceCountsGivenBack: a request that GOAWAY gives back counts as in flight after each turn, both while it
// waits for the end of the connection of its instance and while it waits for another connection, with other requests.
func TestPerInstanceCountsGivenBack(t *testing.T) {
	together := func(s *rv.Step) { s.Group = 1 }
	p := steps(perSecond(40, 500*time.Millisecond), step("a", together), step("b", together))
	p.Targets[0].Connections = 1
	p.Targets[0].Connecting = rv.Connecting{OnDemand: true, PerInstance: true}
	var b *bench
	b = newBench(t, p, func(r *simRequest) reply {
		if r.Conn == 0 && r.Stream == 3 {
			b.conns[0].Out.Write(h2.AppendGoAway(nil, 1, http2.ErrCodeNo, ""))
			return reply{}
		}
		return reply{Status: 200, After: 300 * time.Millisecond}
	})
	withOthers := false // it has waited for any connection
	b.everyTurn = func() {
		if t.Failed() {
			return
		}
		b.totals()
		for id := range book.ID(b.w.requests.Len()) {
			r := b.w.requests.At(id)
			withOthers = withOthers || r.Retried && !r.InFlight && b.w.requests.Reserved() == 0 && b.w.requests.Waiting(0) > 1
		}
	}
	if got := b.run(); got.Retried != 1 || !withOthers {
		t.Errorf("%d requests were given back, want 1; it waited with others: %v", got.Retried, withOthers)
	}
}

// TestPerInstanceFailsOver: an instance whose first endpoint is down stays on the connection to the next one. The next
// instance begins with the first endpoint again, also if the server sends GOAWAY, and another connection takes
// the place of one that drains.
func TestPerInstanceFailsOver(t *testing.T) {
	for _, tt := range []struct {
		protocol rv.Protocol
		goaway   bool // during the last request of an instance
	}{{rv.ProtocolH2C, false}, {rv.ProtocolHTTP1, false}, {rv.ProtocolH2C, true}} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/goaway=%v/direct=%v", tt.protocol, tt.goaway, direct), func(t *testing.T) {
				p := group(rv.Rate{
					Name: "r", Count: 1, Period: 10 * time.Second, ChainsPerSecond: true, Duration: 30 * time.Second,
				})
				p.Drain = 8 * time.Second
				late := func(s *rv.Step) { s.Think = &rv.Think{Fixed: 8 * time.Second} }
				p.Chains[0].Steps = []rv.Step{step("a"), step("b", late)}
				p.Targets[0].Connections, p.Targets[0].Protocol = 1, tt.protocol
				p.Targets[0].Connecting = rv.Connecting{OnDemand: true, PerInstance: true}
				var b *bench
				b = newBench(t, p, func(r *simRequest) reply {
					if tt.goaway && r.Fields[":path"] == "/b" {
						b.conns[r.Conn].GoAway()
					}
					return reply{After: time.Millisecond, Status: 200}
				})
				b.direct, b.down = direct, map[int]bool{0: true}
				b.in(4*time.Second, func() { b.down[0] = false })
				b.run()
				got := ""
				for _, r := range b.served {
					got += fmt.Sprintf("%s on connection %d to endpoint %d\n", r.Fields[":path"], r.Conn, b.conns[r.Conn].endpoint)
				}
				want := "/a on connection 0 to endpoint 1\n/b on connection 0 to endpoint 1\n" +
					"/a on connection 1 to endpoint 0\n/b on connection 1 to endpoint 0\n" +
					"/a on connection 2 to endpoint 0\n/b on connection 2 to endpoint 0\n"
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if len(b.conns) != 3 {
					t.Errorf("%d connections, want 3", len(b.conns))
				}
			})
		}
	}
}
