//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestSearch looks for the capacity of a target over three shards. The capacity is drawn for each run, and so is the start, within a factor
// of 64. A busy machine makes the generator the bottleneck, and the search says so; then the story tries again, and is skipped after the last try. No other story runs meanwhile.
func TestSearch(t *testing.T) {
	const tries = 3
	capacity := 1500 + rand.Int64N(1500)
	s := newStory(t, "search").withTarget("--capacity", strconv.FormatInt(capacity, 10))
	for i := range tries {
		name := fmt.Sprint("search-", i+1)
		start := int64(math.Round(float64(capacity) * math.Pow(64, 2*rand.Float64()-1)))
		t.Logf("a capacity of %d, searched from %d on", capacity, start)
		s.apply(s.quickstart(name, 3, searchFrom(start)))
		s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/"+name, "--timeout=5m")
		lt := s.loadTest(name)
		s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
		s.wantProbes(lt)
		switch found := lt.Status.Search; found.Outcome {
		case v1alpha1.SearchFound:
			if tooBusy(found, capacity) {
				t.Log("the generator was the bottleneck below the capacity, so the search was among too low rates")
				continue
			}
			t.Logf("FIGURE search over 3 shards: a capacity of %d found as %d in %d probes from %d on", capacity, found.Highest, len(found.Probes), start)
			if wrong := math.Abs(float64(found.Highest-capacity)) / float64(capacity); wrong > 0.03 || len(found.Probes) >= 15 {
				t.Errorf("the error is %.1f%% after %d probes, want 3%% at most after 14", 100*wrong, len(found.Probes))
			}
			return
		case v1alpha1.SearchGeneratorBound, v1alpha1.SearchMoved, v1alpha1.SearchIncomplete:
			t.Logf("FIGURE search over 3 shards: no result: %s: %s", found.Outcome, found.Message)
			if float64(found.Highest) > 1.03*float64(capacity) {
				t.Errorf("%d/s held, and the capacity is %d", found.Highest, capacity)
			}
		default:
			t.Fatalf("search %+v", found)
		}
	}
	t.Skipf("no result in %d searches: the machine was busy", tries)
}

// tooBusy returns whether the generator was the bottleneck at a rate that the target can serve.
func tooBusy(found *v1alpha1.SearchStatus, capacity int64) bool {
	return slices.ContainsFunc(found.Probes, func(p v1alpha1.ProbeStatus) bool {
		return p.Outcome == v1alpha1.ProbeGeneratorBound && p.Load < capacity
	})
}

// searchFrom makes a test a search with short probes that send one GET.
func searchFrom(start int64) func(*v1alpha1.LoadTestSpec) {
	return func(spec *v1alpha1.LoadTestSpec) {
		limit, share := intstr.FromString("50ms"), intstr.FromString("1%")
		request := &v1alpha1.Request{}
		request.Method, request.Path = "GET", "/"
		spec.Rates, spec.Variables = nil, nil
		spec.Chains = []v1alpha1.Chain{{Name: "get", Target: "target", Steps: []v1alpha1.Step{{Name: "get", Request: request}}}}
		spec.Search = &v1alpha1.Search{
			Start: start, ProbeDuration: &v1alpha1.Duration{Duration: 3 * time.Second}, SettleDuration: &v1alpha1.Duration{Duration: 300 * time.Millisecond},
		}
		spec.Thresholds = []v1alpha1.Threshold{
			{Name: "fast", Metric: v1alpha1.MetricResponseTime, Percentile: "p99", Max: &limit},
			{Name: "clean", Metric: v1alpha1.MetricErrorRate, Max: &share},
		}
	}
}

// wantProbes checks that status and report have the same probes, and that they have all requests of the test, except for those of warm-ups. Of
// a search with an invalid probe, the probes have fewer.
func (s *story) wantProbes(lt *v1alpha1.LoadTest) {
	s.Helper()
	found, r := lt.Status.Search, s.report(lt)
	if found == nil || r.Search == nil || r.Search.Highest != found.Highest || len(r.Search.Probes) != len(found.Probes) {
		s.Fatalf("search %+v, in the report %+v", found, r.Search)
	}
	var sent int64
	invalid := false
	for i := range found.Probes {
		p := &found.Probes[i]
		s.Logf("probe %d: %d %s, achieved %.0f, errors %.4f; %s", i+1, p.Load, p.Outcome, ptr.Deref(p.Achieved, 0), ptr.Deref(p.ErrorRate, 0), p.Message)
		sent += r.Search.Probes[i].Sent
		invalid = invalid || p.Outcome == v1alpha1.ProbeInvalid
	}
	if sent != r.Requests.Sent && !invalid || sent > r.Requests.Sent {
		s.Errorf("the probes sent %d requests, the test %d", sent, r.Requests.Sent)
	}
	s.wantCounts(lt)
}
