//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	runnerv1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestSearch looks for the capacity of a target over three shards. The capacity is drawn for each run, and so is the start, within a factor
// of 64. No other story runs meanwhile, because a machine that is late can fail a probe.
func TestSearch(t *testing.T) {
	capacity := 1500 + rand.Int64N(1500)
	start := int64(math.Round(float64(capacity) * math.Pow(64, 2*rand.Float64()-1)))
	t.Logf("a capacity of %d, searched from %d on", capacity, start)
	s := newStory(t, "search").withTarget("--capacity", strconv.FormatInt(capacity, 10))
	s.apply(s.quickstart("search", 3, func(spec *v1alpha1.LoadTestSpec) {
		limit, share := intstr.FromString("50ms"), intstr.FromString("1%")
		spec.Rates, spec.Variables = nil, nil
		request := &v1alpha1.Request{}
		request.Method, request.Path = "GET", "/"
		spec.Chains = []v1alpha1.Chain{{Name: "get", Target: "target", Steps: []v1alpha1.Step{{Name: "get", Request: request}}}}
		spec.Search = &v1alpha1.Search{Start: start, ProbeDuration: &metav1.Duration{Duration: 5 * time.Second}, SettleDuration: &metav1.Duration{Duration: 500 * time.Millisecond}}
		spec.Thresholds = []v1alpha1.Threshold{
			{Name: "fast", Metric: v1alpha1.MetricResponseTime, Percentile: "p99", Max: &limit},
			{Name: "clean", Metric: v1alpha1.MetricErrorRate, Max: &share},
		}
	}))
	s.mustKubectl("", "wait", "--for=condition=Finished", "loadtest/search", "--timeout=5m")
	lt := s.loadTest("search")
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	found := lt.Status.Search
	if found == nil || found.Outcome != v1alpha1.SearchFound {
		t.Fatalf("search %+v", found)
	}
	for i, p := range found.Probes {
		t.Logf("probe %d: %d %s, achieved %s, errors %s; %s", i+1, p.Load, p.Outcome, p.Achieved, p.ErrorRate, p.Message)
	}
	t.Logf("FIGURE search over 3 shards: a capacity of %d found as %d in %d probes from %d on", capacity, found.Highest, len(found.Probes), start)
	if wrong := math.Abs(float64(found.Highest-capacity)) / float64(capacity); wrong > 0.03 || len(found.Probes) >= 15 {
		t.Errorf("the error is %.1f%% after %d probes, want 3%% at most after 14", 100*wrong, len(found.Probes))
	}
	r := s.report(lt)
	if r.Search == nil || r.Search.Outcome != runnerv1.SearchFound || r.Search.Highest != found.Highest {
		t.Fatalf("search of the report: %+v", r.Search)
	}
	var sent int64
	for _, p := range r.Search.Probes {
		sent += p.Sent
	}
	if sent != r.Requests.Sent {
		t.Errorf("the probes sent %d requests, the test %d", sent, r.Requests.Sent)
	}
	s.wantSameAsTarget(lt)
	if text := s.mustKubectl("", "get", "loadtest", "search", "-o", "jsonpath={.status.search.outcome}: {.status.search.message}"); text != fmt.Sprintf("Found: %s", found.Message) {
		t.Errorf("kubectl shows %q", text)
	}
}
