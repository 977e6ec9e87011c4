package status

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
)

// found gives the plan a target with one URL for each of the last protocols, and each runner what it found at the first
// one. At the others all found the same.
func found(first ...runnerv1alpha1.Protocol) func(*run.Facts) { return foundAlso(nil, first...) }

func foundAlso(others []runnerv1alpha1.Protocol, first ...runnerv1alpha1.Protocol) func(*run.Facts) {
	return func(s *run.Facts) {
		t := runnerv1alpha1.Target{Name: "web", Protocol: runnerv1alpha1.ProtocolDiscovered}
		for k := range 1 + len(others) {
			t.Endpoints = append(t.Endpoints, runnerv1alpha1.Endpoint{Scheme: "http", Authority: fmt.Sprintf("%d.example", k)})
		}
		s.Plan.Targets = []runnerv1alpha1.Target{t}
		for i, p := range first {
			all := []runnerv1alpha1.EndpointProtocol{{Protocol: p}}
			for _, other := range others {
				all = append(all, runnerv1alpha1.EndpointProtocol{Protocol: other})
			}
			s.View.Shards[i].Snapshot.Protocols = [][]runnerv1alpha1.EndpointProtocol{all}
		}
	}
}

// TestProtocols: status has what was found before the start, during the run and after it. An event before that of the start
// reports that shards found different protocols.
func TestProtocols(t *testing.T) {
	const note = "shards found h2c and http1 at http://0.example of target web, so their results are not comparable; set protocol of the target to use one"
	want := []v1alpha1.FoundProtocol{{Target: "web", URL: "http://0.example", Protocol: "h2c"}, {Target: "web", URL: "http://0.example", Protocol: "http1"}}
	differ := found("h2c", "http1")
	status := &v1alpha1.LoadTestStatus{}
	var events []string
	for _, s := range []*run.Facts{
		runtest.New(runtest.WithJob, runtest.PodsRun, runtest.RunnersAre(readyState, readyState), differ),
		runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(runs, runs), differ),
		runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(done, done), differ, over(runnerv1alpha1.OutcomePassed, "Passed")),
	} {
		s.LoadTest.Status = *status
		next := Of(s)
		if diff := cmp.Diff(want, next.Protocols); diff != "" {
			t.Errorf("phase %s (-want +got):\n%s", next.Phase, diff)
		}
		if c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionRunnersReady); !strings.HasSuffix(c.Message, "; "+note) {
			t.Errorf("phase %s: RunnersReady is %q, want %q at the end", next.Phase, c.Message, note)
		}
		for _, e := range Events(status, next) {
			events = append(events, fmt.Sprint(e.Reason, " ", e.Warning))
			if e.Reason == v1alpha1.EventProtocolsDiffer && e.Note != "The test continues, but "+note {
				t.Errorf("event %q", e.Note)
			}
		}
		status = next
	}
	if diff := cmp.Diff([]string{"PlanReady false", "ProtocolsDiffer true", "RunnersReady false", "Started false", "Completed false"}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestManyProtocols: status is bounded, and URLs that differ are first.
func TestManyProtocols(t *testing.T) {
	others := make([]runnerv1alpha1.Protocol, 40)
	for i := range others {
		others[i] = "h2c"
	}
	s := runtest.New(runtest.WithJob, runtest.PodsRun, runtest.RunnersAre(readyState, readyState), foundAlso(others, "", "http1"))
	s.View.Shards[0].Snapshot.Protocols[0][40].Protocol = "http1"
	got := protocols(s.Plan, s.View)
	if len(got) != 32 || got[0].URL != "http://40.example" || got[1].URL != "http://40.example" || got[2].URL != "http://0.example" {
		t.Errorf("%d entries, %v first", len(got), got[:3])
	}
	s.Plan.Targets[0].Protocol = runnerv1alpha1.ProtocolH2C
	if got := protocols(s.Plan, s.View); got != nil {
		t.Errorf("got %v of a target with a protocol, want none", got)
	}
}
