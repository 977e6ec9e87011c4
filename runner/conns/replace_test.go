package conns

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/h2"
)

// TestOnDemandReplaced: what takes the place of a connection that drains waits for a request, with OnDemand and after
// the last stage.
func TestOnDemandReplaced(t *testing.T) {
	for _, tt := range []struct {
		onDemand, over bool
		dialled        int
	}{{true, false, 0}, {false, true, 0}, {false, false, 1}} {
		b := newBench(t, func(t *rv.Target) {
			t.Protocol, t.Connecting.OnDemand, t.Connecting.MaxRequests = rv.ProtocolH2, tt.onDemand, 2
		})
		skipped := false
		b.cs.cfg.SkipWait = func() { skipped = true }
		b.cs.Open(0, 1, 0, !tt.onDemand)
		b.waiting = 1
		b.cs.ConnectFor(0)
		b.dialled(nil)
		b.waiting, b.over, skipped = 0, tt.over, false
		b.peers[0].out = h2.AppendSettings(nil)
		b.deliver()
		c := b.cs.To(0).Take()
		b.carry(c)
		b.cs.handle(c, responded)
		b.carry(c)
		b.cs.ConnectFor(0)
		if b.check(t, 1); len(b.attempts) != tt.dialled || skipped {
			t.Errorf("on demand %t, over %t: %d are dialled, want %d", tt.onDemand, tt.over, len(b.attempts), tt.dialled)
		}
		b.waiting = 1
		b.cs.ConnectFor(0)
		if b.check(t, 1); len(b.attempts) != 1 {
			t.Errorf("on demand %t, over %t: %d are dialled for a request, want 1", tt.onDemand, tt.over, len(b.attempts))
		}
	}
}
