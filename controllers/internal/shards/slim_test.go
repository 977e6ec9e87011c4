package shards

import (
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestSlim: the counts of a final snapshot stay, and so does its response time. The snapshot that others have does not change.
func TestSlim(t *testing.T) {
	times := runnerv1alpha1.Histogram{Count: 3}
	final := &runnerv1alpha1.Snapshot{
		ResponseTime: times, Histograms: &runnerv1alpha1.Histograms{Lag: times},
		Steps:           []runnerv1alpha1.StepCounters{{Outcomes: runnerv1alpha1.Outcomes{Done: 3}, ResponseTime: times}},
		StageSelections: []runnerv1alpha1.SelectionCounters{{SelectionCounts: runnerv1alpha1.SelectionCounts{Done: 3}, Time: times}},
	}
	s := &runner{snapshot: final}
	s.slim()
	got := s.snapshot
	if got.Steps[0].Done != 3 || got.StageSelections[0].Done != 3 || got.ResponseTime.Count != 3 {
		t.Errorf("%+v", got)
	}
	if got.Histograms != nil || got.Steps[0].ResponseTime.Count != 0 || got.StageSelections[0].Time.Count != 0 {
		t.Errorf("distributions remain: %+v", got)
	}
	if final.Steps[0].ResponseTime.Count != 3 || final.StageSelections[0].Time.Count != 3 {
		t.Errorf("the argument changed: %+v", final)
	}
}
