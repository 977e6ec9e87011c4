package loadtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// series counts what a scrape would get, by metric.
func series(t *testing.T, reg *prometheus.Registry) map[string]int {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range families {
		out[f.GetName()] = len(f.GetMetric())
	}
	return out
}

// counted is the sum over the series of a counter.
func counted(t *testing.T, reg *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func TestMetricsComeAndGo(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := newMetrics(reg)
	if again := newMetrics(reg); again.runs != m.runs {
		t.Error("a second manager has counters of its own")
	}
	all := states()
	key := types.NamespacedName{Namespace: "core", Name: "pcf"}
	status := &v1alpha1.LoadTestStatus{}
	for _, state := range []string{"pending", "starting: pods", "running", "draining", "finished, passed", "finished, passed"} {
		s := all[state][0]
		s.lt = s.lt.DeepCopy()
		s.lt.Status = *status
		next := statusOf(s, now)
		m.observe(key, status, next)
		status = next
	}
	want := map[string]int{
		"h2surge_loadtest_runs_total": 1, "h2surge_loadtest_phase": 1, "h2surge_loadtest_passed": 1,
		"h2surge_loadtest_rate_requests_per_second": 1, "h2surge_loadtest_response_time_p99_seconds": 1,
		"h2surge_loadtest_error_ratio": 1, "h2surge_loadtest_runners_lost": 1,
	}
	if diff := cmp.Diff(want, series(t, reg)); diff != "" {
		t.Errorf("series of a finished run (-want +got):\n%s", diff)
	}
	if n := counted(t, reg, "h2surge_loadtest_runs_total"); n != 1 {
		t.Errorf("the run was counted %v times", n)
	}
	m.forget(key)
	if diff := cmp.Diff(map[string]int{"h2surge_loadtest_runs_total": 1}, series(t, reg)); diff != "" {
		t.Errorf("series after the LoadTest has gone (-want +got):\n%s", diff)
	}
}
