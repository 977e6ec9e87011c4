package loop

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestClosedLoopWithADeadTarget: steps that a closed loop cannot send wait as requests do, and no longer. The instances of two seconds were
// all kept, and none of their steps was counted.
func TestClosedLoopWithADeadTarget(t *testing.T) {
	const streams, answer, wait, length = 10, time.Millisecond, 100 * time.Millisecond, 2 * time.Second
	p := steps(rv.Rate{Name: "r", ClosedLoop: true, Duration: length}, step("live"), step("dead", func(s *rv.Step) { s.Target = 1 }))
	p.Drain = wait
	p.Targets[0].MaxConcurrentStreams = streams
	dead := p.Targets[0]
	dead.Name, dead.Connecting.OnDemand = "dead", true
	p.Targets = append(p.Targets, dead)
	b := newBench(t, p, ok(answer))
	b.unreachable = "dead"
	got := b.run()
	perWait := int64(streams * (wait / answer))
	all, _ := b.w.flow.All()
	if n := int64(len(all)); n > perWait+2*streams {
		t.Errorf("%d instances at the same time, want at most %d", n, perWait+2*streams)
	}
	if got.Dropped < got.Done-perWait-streams || got.Done < streams*int64(length/answer)*9/10 {
		t.Errorf("%d steps of the dead target were dropped, and %d of the live one done", got.Dropped, got.Done)
	}
	if c := b.w.rec.Chains[0]; c.AbortedBy.Counts()[rv.AbortDropped] != got.Dropped {
		t.Errorf("%d dropped, and %v aborted", got.Dropped, c.AbortedBy.Counts())
	}
}
