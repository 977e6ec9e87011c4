package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestListenerResults: a step that waits is an error only after the end, and a time above every measured time has no value.
func TestListenerResults(t *testing.T) {
	above := runnerv1alpha1.Above(2_000_000)
	in := []runnerv1alpha1.ListenerResult{{
		Name: "events", Time: runnerv1alpha1.Times{Count: 100, P50: 1000, P90: above, P95: above, P99: above, P999: above, Max: above},
		ListenerCounts: runnerv1alpha1.ListenerCounts{
			Received: 85, InTime: 80, Late: 2, Duplicate: 2, Unexpected: 1, Awaited: 110, Missing: 10, FailedChecks: 3,
			Measured: runnerv1alpha1.AwaitCounts{Awaited: 100, InTime: 70, Missing: 10, FailedChecks: 2},
		},
	}}
	want := v1alpha1.ListenerResult{
		Name: "events", Received: 85, InTime: 80, Late: 2, Duplicate: 2, Unexpected: 1, Awaited: 110, Missing: 10, FailedChecks: 3,
		ErrorRate: 0.15, Time: v1alpha1.Times{P50Microseconds: new(int64(1000)), AboveMicroseconds: 2000000},
	}
	for over, rate := range map[bool]float64{false: 0.15, true: 0.32} {
		want.ErrorRate = rate
		if diff := cmp.Diff([]v1alpha1.ListenerResult{want}, listenerResults(in, over)); diff != "" {
			t.Errorf("over %t (-want +got):\n%s", over, diff)
		}
	}
	if got := listenerResults(nil, true); got != nil {
		t.Errorf("of no listeners: %v", got)
	}
}
