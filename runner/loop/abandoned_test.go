package loop

import (
	"fmt"
	"testing"
	"time"
)

// TestRecoveryOfAHungPeer: a peer that does not answer for 3 s is sent the full rate within a second of its recovery, or 90%
// of it while 5% of its responses come too late. Connections and resets do not flood it meanwhile.
func TestRecoveryOfAHungPeer(t *testing.T) {
	const ms = time.Millisecond
	const recovery = 4 * time.Second
	soon := func(int) time.Duration { return 10 * ms }
	oneInTwentyLate := func(n int) time.Duration {
		if n%20 == 0 {
			return 200 * ms
		}
		return 10 * ms
	}
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		// after returns how long the n-th response takes, before the hang and after it.
		after func(n int) time.Duration
		// least is how many requests of 2000 are sent in the second that begins a second after the recovery.
		least int
	}{
		{"timeout 30ms", 30 * ms, soon, 2000},
		{"timeout 150ms", 150 * ms, soon, 2000},
		{"all responses come too late", 25 * ms, func(int) time.Duration { return 40 * ms }, 2000},
		{"5 % come too late", 30 * ms, oneInTwentyLate, 1800},
		{"5 % come too late for a longer timeout", 150 * ms, oneInTwentyLate, 1800},
	} {
		for _, forgets := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/forgets=%v", tt.name, forgets), func(t *testing.T) {
				p := gets(perSecond(2000, 6*time.Second))
				p.Targets[0].MaxConcurrentStreams = 128
				p.Chains[0].Steps[0].Timeout, p.Drain = tt.timeout, tt.timeout+100*ms
				var b *bench
				since := func(r *simRequest) time.Duration { return r.At - time.Duration(b.startAt) }
				b = newBench(t, p, func(r *simRequest) reply {
					after := tt.after(len(b.served))
					switch at := since(r); {
					case at < time.Second || at >= recovery:
					case forgets:
						return reply{}
					default:
						after += recovery - at
					}
					return reply{Status: 200, After: after}
				})
				b.run()
				late, resets := 0, 0
				for _, r := range b.served {
					if since(r) >= recovery+time.Second {
						late++
					}
				}
				for _, c := range b.sim.conns {
					resets += len(c.Resets)
				}
				if late < tt.least {
					t.Errorf("%d requests after the fifth second, want %d", late, tt.least)
				}
				if len(b.sim.conns) > 3 || resets > len(b.sim.conns)*500+7*30 {
					t.Errorf("%d connections, %d resets", len(b.sim.conns), resets)
				}
			})
		}
	}
}

// TestUnansweredShare: 3% of the requests are never answered, far more than may be reset. The rate holds.
func TestUnansweredShare(t *testing.T) {
	p := gets(perSecond(10_000, 10*time.Second))
	p.Targets[0].MaxConcurrentStreams = 200
	p.Chains[0].Steps[0].Timeout, p.Drain = 100*time.Millisecond, 200*time.Millisecond
	n := 0
	b := newBench(t, p, func(*simRequest) reply {
		if n++; n%33 == 0 {
			return reply{}
		}
		return reply{Status: 200, After: 5 * time.Millisecond}
	})
	got := b.run()
	if got.Sent != 100_000 || got.Dropped != 0 || got.TimedOut < 3000 || got.TimedOut > 3100 {
		t.Errorf("got %+v", got)
	}
	resets := 0
	for _, c := range b.sim.conns {
		resets += len(c.Resets)
		if len(c.Resets) > 1000 { // what servers since CVE-2023-44487 tolerate at once
			t.Errorf("%d resets on one connection", len(c.Resets))
		}
	}
	if len(b.sim.conns) > 10 || resets < 2000 {
		t.Errorf("%d connections, %d resets", len(b.sim.conns), resets)
	}
}
