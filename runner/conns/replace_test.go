package conns

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/h2"
)

// TestOnDemandReplaced: what takes the place of a connection that drains waits for a request, with OnDemand and after
// the last stage. A closed loop that fills streams has a request for it at once.
func TestOnDemandReplaced(t *testing.T) {
	for _, tt := range []struct {
		onDemand, over, fills bool
		dialled               int
		// skipped: the next turn begins without a wait.
		skipped bool
	}{{true, false, false, 0, false}, {false, true, false, 0, false}, {false, false, false, 1, false},
		{true, false, true, 0, true}} {
		b := newBench(t, func(t *rv.Target) {
			t.Protocol, t.Connecting.OnDemand, t.Connecting.MaxRequests = rv.ProtocolH2, tt.onDemand, 2
		})
		skipped := false
		b.cs.cfg.SkipWait = func() { skipped = true }
		b.cs.Open(0, 1, 0, !tt.onDemand)
		b.waiting = 1
		b.cs.ConnectFor(0)
		b.dialled(nil)
		b.waiting, b.over, b.fills, skipped = 0, tt.over, tt.fills, false
		b.peers[0].out = h2.AppendSettings(nil)
		b.deliver()
		c := b.cs.To(0).Take()
		b.carry(c)
		b.cs.handle(c, responded)
		b.carry(c)
		if b.check(t, 1); len(b.attempts) != tt.dialled || skipped != tt.skipped {
			t.Errorf("%+v: %d are dialled, skipped %t", tt, len(b.attempts), skipped)
		}
		b.cs.ConnectFor(0)
		dials := len(b.attempts) == 1
		if b.check(t, 1); dials != (tt.dialled == 1 || tt.fills) {
			t.Errorf("%+v: dials %t in the next turn", tt, dials)
		}
		b.waiting = 1
		b.cs.ConnectFor(0)
		if b.check(t, 1); len(b.attempts) != 1 {
			t.Errorf("%+v: %d are dialled for a request, want 1", tt, len(b.attempts))
		}
	}
}
