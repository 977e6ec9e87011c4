//go:build e2e

package e2e

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// TestObserve: the first shard reads the metrics of the target while both send, a threshold is on them, and status and
// report have them.
func TestObserve(t *testing.T) {
	t.Parallel()
	s := newStory(t, "observe").withTarget()
	lt := s.quickstart("observed", 2, hold(500, 20*time.Second), withoutThresholds, func(spec *v1alpha1.LoadTestSpec) {
		few, most := intstr.FromInt32(400), intstr.FromString("1.2")
		observeRequests(spec)
		spec.Observe = append(spec.Observe, v1alpha1.Observation{Name: "gone", Unit: v1alpha1.UnitCores, Prometheus: &v1alpha1.ObservationQuery{URL: "http://target:8082", Query: "up"}})
		spec.Thresholds = []v1alpha1.Threshold{
			{Name: "received", Metric: v1alpha1.MetricObserved, Observation: "requests", Min: &few},
			{Name: "sent-per-received", Metric: v1alpha1.MetricObserved, Observation: "requests", PerUnit: true, Max: &most},
		}
	})
	s.apply(lt)
	lt = s.awaitCondition("observed", v1alpha1.ConditionFinished, metav1.ConditionTrue, short)
	s.wantPassed(lt, v1alpha1.ReasonPassed)
	if got := lt.Status.Results.Observations; len(got) != 1 || got[0].Name != "requests" || math.Abs(got[0].Mean-500) > 50 {
		t.Errorf("observations of status: %+v", got)
	}
	r := s.report(lt)
	if o := r.Observations[0]; len(o.Series) != 1 || o.Series[0].Figures.Samples < 3 || len(o.Gaps) > 0 {
		t.Errorf("observation of the target: %+v", o)
	}
	if o := r.Observations[1]; len(o.Series) > 0 || len(o.Gaps) == 0 {
		t.Errorf("observation of a server that does not exist: %+v", o)
	}
}

// observeRequests reads how many requests the target receives in a second.
func observeRequests(spec *v1alpha1.LoadTestSpec) {
	spec.Targets = append(spec.Targets, v1alpha1.Target{Name: "stats", URL: "http://target:8081"})
	spec.Observe = []v1alpha1.Observation{{Name: "requests", Unit: v1alpha1.UnitPerSecond,
		Scrape: &v1alpha1.ObservationScrape{Target: "stats", Metric: "h2surge_target_requests_total"}}}
}
