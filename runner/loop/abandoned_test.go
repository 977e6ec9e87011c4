package loop

import (
	"testing"
	"time"
)

// TestRecoveryOfAHungPeer: a peer that does not answer for 3 s, nor later what it was asked then, is sent the
// full rate within a second of its recovery, and connections are not churned meanwhile.
func TestRecoveryOfAHungPeer(t *testing.T) {
	for _, timeout := range []time.Duration{30 * time.Millisecond, 150 * time.Millisecond} {
		t.Run(timeout.String(), func(t *testing.T) {
			p := gets(perSecond(2000, 6*time.Second))
			p.Targets[0].MaxConcurrentStreams = 128
			p.Chains[0].Steps[0].Timeout, p.Drain = timeout, timeout+100*time.Millisecond
			since := func(b *bench, r *simRequest) time.Duration { return r.at - time.Duration(b.startAt) }
			var b *bench
			b = newBench(t, p, func(r *simRequest) reply {
				if at := since(b, r); at >= time.Second && at < 4*time.Second {
					return reply{}
				}
				return reply{status: 200, after: 10 * time.Millisecond}
			})
			b.run()
			late := 0
			for _, r := range b.served {
				if since(b, r) >= 5*time.Second {
					late++
				}
			}
			if late < 2000 {
				t.Errorf("%d requests after the fifth second, want 2000", late)
			}
			if len(b.sim.conns) > 3 {
				t.Errorf("%d connections", len(b.sim.conns))
			}
		})
	}
}

// TestUnansweredShare: 3 % of the requests are never answered, far more than may be reset. The rate holds.
func TestUnansweredShare(t *testing.T) {
	p := gets(perSecond(10_000, 10*time.Second))
	p.Targets[0].MaxConcurrentStreams = 200
	p.Chains[0].Steps[0].Timeout, p.Drain = 100*time.Millisecond, 200*time.Millisecond
	n := 0
	b := newBench(t, p, func(*simRequest) reply {
		if n++; n%33 == 0 {
			return reply{}
		}
		return reply{status: 200, after: 5 * time.Millisecond}
	})
	got := b.run()
	if got.Sent != 100_000 || got.Dropped != 0 || got.TimedOut < 3000 || got.TimedOut > 3100 {
		t.Errorf("got %+v", got)
	}
	resets := 0
	for _, c := range b.sim.conns {
		resets += len(c.resets)
		if len(c.resets) > 1000 { // what servers since CVE-2023-44487 tolerate at once
			t.Errorf("%d resets on one connection", len(c.resets))
		}
	}
	if len(b.sim.conns) > 10 || resets < 2000 {
		t.Errorf("%d connections, %d resets", len(b.sim.conns), resets)
	}
}
