package build

import (
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestUnanswered: requests without a response count as longer than every measured time. The limit is the longest timeout of them, or the longest
// measured time if that is longer.
func TestUnanswered(t *testing.T) {
	const ms = 1000
	above := runnerv1alpha1.Above
	running := runnerv1alpha1.StateRunning
	for _, tt := range []struct {
		name     string
		step     int
		outcomes []string
		measured int64 // of 8 requests that succeed
		state    runnerv1alpha1.State
		lost     bool
		want     int64 // unanswered
		p99      int64
	}{
		{name: "all answered", measured: 10 * ms, p99: 10_000},
		{name: "a timeout", step: 0, outcomes: []string{"timedOut"}, measured: 10 * ms, want: 1, p99: above(1_000_000)},
		{name: "each kind", step: 1, outcomes: []string{"timedOut", "reset", "lost"}, measured: 10 * ms, want: 3, p99: above(2_000_000)},
		{name: "a slot that was dropped has the longest timeout", step: 0, outcomes: []string{"dropped"}, measured: 10 * ms, want: 1, p99: above(5_000_000)},
		{name: "in flight at the end", step: 2, outcomes: []string{"inFlight"}, measured: 10 * ms, want: 1, p99: above(5_000_000)},
		{name: "in flight in teardown", step: 2, outcomes: []string{"inFlight"}, state: runnerv1alpha1.StateTearingDown, measured: 10 * ms, want: 1, p99: above(5_000_000)},
		{name: "in flight", step: 2, outcomes: []string{"inFlight"}, state: running, measured: 10 * ms, p99: 10_000},
		{name: "in flight on a lost runner", step: 2, outcomes: []string{"inFlight"}, state: running, lost: true, measured: 10 * ms, want: 1, p99: above(5_000_000)},
		{name: "a failed check has a time", step: 0, outcomes: []string{"failed"}, measured: 10 * ms, p99: 10_000},
		{name: "a longer time than the timeout", step: 0, outcomes: []string{"timedOut"}, measured: 3_000_000, want: 1, p99: above(3_000_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := testPlan()
			r := newRecorder(plan, 0)
			for range 8 {
				r.request(tt.step, "succeeded", tt.measured)
			}
			for _, o := range tt.outcomes {
				r.request(tt.step, o, 1)
			}
			if tt.state != "" {
				r.snapshot.State = tt.state
			}
			in := Input{Plan: plan, Snapshots: []runnerv1alpha1.Snapshot{r.done()}}
			if tt.lost {
				in.Lost = []Runner{{0, "boot0"}}
			}
			got := build(t, in)
			if err := Check(got); err != nil {
				t.Error(err)
			}
			if got.ResponseTime.P99 != tt.p99 || got.Steps[tt.step].ResponseTime.Max != tt.p99 && tt.outcomes[0] != "dropped" {
				t.Errorf("p99 %d, maximum of the step %d, want %d", got.ResponseTime.P99, got.Steps[tt.step].ResponseTime.Max, tt.p99)
			}
			if got.ResponseTime.Unanswered != tt.want || got.Histograms.ResponseTime.Unanswered != tt.want || got.Shards[0].ResponseTime.Unanswered != tt.want {
				t.Errorf("unanswered: %d, in the distribution %d, of the shard %d; want %d",
					got.ResponseTime.Unanswered, got.Histograms.ResponseTime.Unanswered, got.Shards[0].ResponseTime.Unanswered, tt.want)
			}
		})
	}
}
