package loop

import (
	"fmt"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestPerInstance: each chain instance has a connection that carries its requests and no others, and that closes when it
// ends.
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
