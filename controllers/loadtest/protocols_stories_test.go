package loadtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestProtocolsDiffer: users see before the load that shards found different protocols, and the test runs.
func TestProtocolsDiffer(t *testing.T) {
	w := newWorld(t)
	w.holding(func(_ *batchv1.Job, index int) bool { return index == 1 })
	w.apply(twoShards("differ", load).Build())
	w.runner("differ-1-0").Shape(func(s *runnerv1alpha1.Snapshot) { s.Protocols[0][0].Protocol = runnerv1alpha1.ProtocolHTTP1 })
	w.holding(nil)
	w.awaitLoad("differ", 1)
	w.wantEvents("differ", "PlanReady", "ProtocolsDiffer", "RunnersReady", "Started")
	w.endLoad("differ")
	lt := w.awaitPhase("differ", v1alpha1.PhaseCompleted)
	want := []v1alpha1.FoundProtocol{{Target: "target", URL: "http://target.example", Protocol: "http1"}, {Target: "target", URL: "http://target.example", Protocol: "h2c"}}
	if diff := cmp.Diff(want, lt.Status.Protocols); diff != "" {
		t.Errorf("protocols (-want +got):\n%s", diff)
	}
}
