package loadtest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// aSearch probes 1000/s and then 2000/s, its maximum.
func aSearch(name string) *v1alpha1.LoadTest {
	lt := builder.Minimal(name).Shards(2).Connections(2).Rates(builder.PerSecond("warm", 100, time.Second)).Threshold(builder.P99("20ms")).Build()
	lt.Spec.Rates[0].WarmUp = true
	lt.Spec.Search = &v1alpha1.Search{
		Start: 1000, Max: 2000, ProbeDuration: &v1alpha1.Duration{Duration: time.Second}, SettleDuration: &v1alpha1.Duration{Duration: 200 * time.Millisecond},
	}
	return lt
}

func probesOf(lt *v1alpha1.LoadTest) (out []v1alpha1.ProbeStatus) {
	if lt.Status.Search == nil {
		return nil
	}
	for _, p := range lt.Status.Search.Probes {
		p.Achieved, p.ResponseTime = nil, v1alpha1.Times{}
		out = append(out, p)
	}
	return out
}

func TestSearch(t *testing.T) {
	w := newWorld(t)
	const probe = 5 // seconds: status must show the search between its two probes, on a busy machine, too
	search := aSearch("search")
	search.Spec.Search.ProbeDuration.Duration = probe * time.Second
	w.apply(search)
	live := w.await("search", "in its second probe", func(lt *v1alpha1.LoadTest) bool { return len(probesOf(lt)) == 1 })
	w.wantCondition(live, v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning)
	if s := live.Status.Search; s.Outcome != "" || s.Highest != 1000 || s.Message == "" {
		t.Errorf("search %+v", s)
	}
	lt := w.awaitPhase("search", v1alpha1.PhaseCompleted)
	want := []v1alpha1.ProbeStatus{{Load: 1000, Outcome: "Held", ErrorRate: new(0.0)}, {Load: 2000, Outcome: "Held", ErrorRate: new(0.0)}}
	if diff := cmp.Diff(want, probesOf(lt)); diff != "" {
		t.Errorf("probes (-want +got):\n%s", diff)
	}
	s := lt.Status.Search
	if s.Outcome != v1alpha1.SearchMaximumHeld || s.Highest != 2000 || s.Lowest != 0 || s.Message != lt.Status.Verdict.Message {
		t.Errorf("search %+v, verdict %+v", s, lt.Status.Verdict)
	}
	w.wantCondition(lt, v1alpha1.ConditionPassed, metav1.ConditionTrue, v1alpha1.ReasonPassed)
	report := w.report(lt)
	if report.Search == nil || report.Search.Outcome != runnerv1alpha1.SearchMaximumHeld || len(report.Search.Probes) != 2 || report.Stopped != "" {
		t.Fatalf("search of the report %+v, stopped %q", report.Search, report.Stopped)
	}
	var sent int64
	for _, p := range report.Search.Probes {
		sent += p.Sent
	}
	if sent != probe*3000 || report.Requests.Sent != sent {
		t.Errorf("the probes sent %d of %d requests, want all %d", sent, report.Requests.Sent, probe*3000)
	}
}

func TestSearchStopped(t *testing.T) {
	w := newWorld(t)
	lt := aSearch("cut-short")
	lt.Spec.Search.ProbeDuration.Duration = load
	w.apply(lt)
	w.await("cut-short", "in its first probe", func(lt *v1alpha1.LoadTest) bool {
		return lt.Status.StartTime != nil && w.run(lt.Name).Search.Begun != 0
	})
	w.patch("cut-short", "/spec/stop", "true")
	lt = w.awaitPhase("cut-short", v1alpha1.PhaseStopped)
	if s := lt.Status.Search; s == nil || s.Outcome != v1alpha1.SearchIncomplete {
		t.Errorf("search %+v", s)
	}
}
