package runner

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

func TestIdleStrategy(t *testing.T) {
	for _, tt := range []struct {
		of        rv.IdleStrategy
		exclusive bool
		want      rv.IdleStrategy
	}{
		{rv.IdleAuto, true, rv.IdleSpin},
		{rv.IdleAuto, false, rv.IdleSleep},
		{rv.IdleSpin, true, rv.IdleSpin},
		{rv.IdleSpin, false, rv.IdleSpin},
		{rv.IdleSleep, true, rv.IdleSleep},
		{rv.IdleSleep, false, rv.IdleSleep},
	} {
		if got := idleStrategy(tt.of, tt.exclusive); got != tt.want {
			t.Errorf("%q, exclusive %v: %q, want %q", tt.of, tt.exclusive, got, tt.want)
		}
	}
}

// TestIdleShows: the final snapshot has the strategy, and what the sleep interval added.
func TestIdleShows(t *testing.T) {
	for _, tt := range []struct {
		of, want rv.IdleStrategy
		batched  bool
	}{
		{rv.IdleAuto, rv.IdleSleep, true},
		{rv.IdleSpin, rv.IdleSpin, false},
	} {
		plan := lifeCycle(newPeer(t, 0).address, rv.Rate{Name: "r", Count: 2000, Period: time.Second, Duration: 100 * time.Millisecond})
		plan.IdleStrategy, plan.SleepInterval = tt.of, 5*time.Millisecond
		var s *rv.Snapshot
		for try := 0; try == 0 || tt.batched && s.Generator.BatchedNanoseconds == 0 && try < 10; try++ { // if all were late
			var err error
			if s, err = Run(t.Context(), plan, split.Whole(plan), Options{NoPin: true}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if g := s.Generator; g.IdleStrategy != tt.want || (g.BatchedNanoseconds > 0) != tt.batched || g.BatchedNanoseconds > int64(5*time.Millisecond)*s.Counters.Sent {
			t.Errorf("%q: %q, %d ns batched", tt.of, g.IdleStrategy, g.BatchedNanoseconds)
		}
	}
}
