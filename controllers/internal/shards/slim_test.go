package shards

import (
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/internal/histogram"
)

// TestSlim: the final snapshot of a runner that ended in time keeps its counts and its response time only, also if it is
// received again. That of a runner that ended early stays whole, because it is stored. The answer does not change.
func TestSlim(t *testing.T) {
	h := histogram.New()
	h.RecordN(1000, 3)
	times := h.Encode()
	for name, tc := range map[string]struct {
		problem runnerv1alpha1.Problem
		slim    bool
	}{
		"in time": {slim: true},
		"early":   {problem: runnerv1alpha1.ProblemInternal},
	} {
		d := drive(t, 1)
		d.desired.Plan.Chains = []runnerv1alpha1.Chain{{Steps: make([]runnerv1alpha1.Step, 1)}}
		d.g = New(d.desired, d.g.opts, d.now)
		for range 3 {
			d.round(time.Second)
		}
		d.desired.Record = &record.Record{Start: &record.Start{}}
		d.round(time.Second)
		final := &d.runners[0]
		final.State, final.Problem, final.ResponseTime = runnerv1alpha1.StateDone, tc.problem, times
		final.Histograms = &runnerv1alpha1.Histograms{Lag: times}
		final.Steps = []runnerv1alpha1.StepCounters{{Outcomes: runnerv1alpha1.Outcomes{Done: 3}, ResponseTime: times,
			StatusCodes: map[string]int64{"200": 3}}}
		final.Targets = []runnerv1alpha1.TargetTimes{{Connect: times}}
		for range 2 {
			d.g.Heard(d.g.runners[0].id(), d.answer(Call{ID: d.g.runners[0].id()}), d.now)
			got := d.g.runners[0].snapshot
			if got.Steps[0].Done != 3 || got.ResponseTime.Count != 3 {
				t.Errorf("%s: counts are missing: %+v", name, got)
			}
			if (got.Histograms == nil) != tc.slim || (got.Targets == nil) != tc.slim || (got.Steps[0].ResponseTime.Count == 0) != tc.slim {
				t.Errorf("%s: slim should be %t: %+v", name, tc.slim, got)
			}
			d.round(time.Second)
		}
		if final.Steps[0].ResponseTime.Count != 3 || final.Targets[0].Connect.Count != 3 {
			t.Errorf("%s: the answer changed: %+v", name, final)
		}
	}
}
