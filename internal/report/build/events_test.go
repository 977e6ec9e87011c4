package build

import (
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestStepEvents: each count has a row and a metric of its own.
func TestStepEvents(t *testing.T) {
	var all runnerv1alpha1.StepEvents
	seen := map[StepEvent]bool{}
	for _, n := range all.Counts() {
		of := StepEvents[n.Name]
		if seen[of] || of.Text == "" || of.Metric == "" || of.Help == "" {
			t.Errorf("%s is shown as %+v", n.Name, of)
		}
		seen[of] = true
	}
	if len(seen) != len(StepEvents) {
		t.Errorf("%d counts, %d are shown", len(seen), len(StepEvents))
	}
}
