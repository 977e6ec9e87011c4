package loadtest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/run/runtest"
	"github.com/h2surge/h2surge/controllers/internal/status"
	"github.com/h2surge/h2surge/internal/metric"
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

var pcf = types.NamespacedName{Namespace: "core", Name: "pcf"}

// walk has the facts of a run that passes, from its first pass on.
func walk() []*run.Facts {
	running := func(state runnerv1alpha1.State) *run.Facts {
		return runtest.New(runtest.WithJob, runtest.PodsRun, runtest.Started, runtest.RunnersAre(state, state))
	}
	draining, passed := running(runnerv1alpha1.StateDone), running(runnerv1alpha1.StateDone)
	passed.Record.End = status.End(passed, &runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomePassed, Reason: "Passed"})
	return []*run.Facts{runtest.New(), runtest.New(runtest.WithJob), running(runnerv1alpha1.StateRunning), draining, passed, passed}
}

// endedAt is the status of a run that has passed.
func endedAt(end time.Time) *v1alpha1.LoadTestStatus {
	all := walk()
	f := all[len(all)-1]
	f.LoadTest.Status = *status.Of(all[2])
	st := status.Of(f)
	st.CompletionTime = &metav1.Time{Time: end}
	return st
}

// registered returns a collector, what it is scraped by, and its clock.
func registered(keep time.Duration, most int) (*Collector, *prometheus.Registry, *time.Time) {
	clock := runtest.Now
	c := NewCollector(keep, most, func() time.Time { return clock })
	reg := prometheus.NewPedanticRegistry()
	return metric.Register(reg, c), reg, &clock
}

func TestMetricsOfARun(t *testing.T) {
	c, reg, _ := registered(time.Minute, 10)
	if again := metric.Register(reg, NewCollector(time.Minute, 10, time.Now)); again != c {
		t.Error("a second manager has counters of its own")
	}
	before := &v1alpha1.LoadTestStatus{}
	for _, f := range walk() {
		f.LoadTest = f.LoadTest.DeepCopy()
		f.LoadTest.Status = *before
		after := status.Of(f)
		c.Observe(pcf, before, after)
		before = after
	}
	want := map[string]int{
		"h2surge_operator_writes_refused_total": 1, "h2surge_loadtest_runs_total": 5, "h2surge_loadtest_phase": 1, "h2surge_loadtest_passed": 1,
		"h2surge_loadtest_verdict": 1, "h2surge_loadtest_duration_seconds": 1, "h2surge_loadtest_runners_lost": 1,
		"h2surge_loadtest_requests_sent_total": 1, "h2surge_loadtest_requests_total": 5, "h2surge_loadtest_requests_dropped_total": 1,
		"h2surge_loadtest_asked_requests_per_second": 1, "h2surge_loadtest_rate_requests_per_second": 1,
		"h2surge_loadtest_response_time_seconds": 6, "h2surge_loadtest_error_ratio": 1,
	}
	if diff := cmp.Diff(want, series(t, reg)); diff != "" {
		t.Errorf("series of a finished run (-want +got):\n%s", diff)
	}
	if n := counted(t, reg, "h2surge_loadtest_runs_total"); n != 1 {
		t.Errorf("the run was counted %v times", n)
	}
}

func TestMetricsAreThoseOfTheStatus(t *testing.T) {
	c, reg, _ := registered(time.Minute, 10)
	st := endedAt(runtest.Now.Add(90 * time.Second))
	st.StartTime = &metav1.Time{Time: runtest.Now}
	st.Results = &v1alpha1.Results{
		Requests:  v1alpha1.RequestCounts{Sent: 100, Succeeded: 80, FailedChecks: 8, TimedOut: 5, Reset: 4, ConnectionLost: 3, Dropped: 2},
		Rate:      v1alpha1.RateStatus{Asked: 50, Achieved: 49.5},
		ErrorRate: 0.2157, ResponseTime: v1alpha1.Times{P50Microseconds: ptr.To[int64](1100), P90Microseconds: ptr.To[int64](2000), P95Microseconds: ptr.To[int64](3000), P99Microseconds: ptr.To[int64](8420), P999Microseconds: ptr.To[int64](9000), AboveMicroseconds: 5000000},
	}
	c.Observe(pcf, &v1alpha1.LoadTestStatus{}, st)
	want := `
# HELP h2surge_loadtest_duration_seconds Time since the start of the run, up to its end; absent before the start.
# TYPE h2surge_loadtest_duration_seconds gauge
h2surge_loadtest_duration_seconds{loadtest="pcf",namespace="core"} 90
# HELP h2surge_loadtest_error_ratio 1 - succeeded / (sent + dropped), so far.
# TYPE h2surge_loadtest_error_ratio gauge
h2surge_loadtest_error_ratio{loadtest="pcf",namespace="core"} 0.2157
# HELP h2surge_loadtest_rate_requests_per_second Requests sent per second since the start of the measured stages.
# TYPE h2surge_loadtest_rate_requests_per_second gauge
h2surge_loadtest_rate_requests_per_second{loadtest="pcf",namespace="core"} 49.5
# HELP h2surge_loadtest_requests_total Requests of measured stages that have an outcome: succeeded, failed_checks, timed_out, reset or connection_lost. So far, over all shards.
# TYPE h2surge_loadtest_requests_total counter
h2surge_loadtest_requests_total{loadtest="pcf",namespace="core",outcome="connection_lost"} 3
h2surge_loadtest_requests_total{loadtest="pcf",namespace="core",outcome="failed_checks"} 8
h2surge_loadtest_requests_total{loadtest="pcf",namespace="core",outcome="reset"} 4
h2surge_loadtest_requests_total{loadtest="pcf",namespace="core",outcome="succeeded"} 80
h2surge_loadtest_requests_total{loadtest="pcf",namespace="core",outcome="timed_out"} 5
# HELP h2surge_loadtest_response_time_seconds Response time so far, over all shards, by percentile; 100 is the maximum. Exact to 0.1%.
# TYPE h2surge_loadtest_response_time_seconds gauge
h2surge_loadtest_response_time_seconds{loadtest="pcf",namespace="core",percentile="50"} 0.0011
h2surge_loadtest_response_time_seconds{loadtest="pcf",namespace="core",percentile="90"} 0.002
h2surge_loadtest_response_time_seconds{loadtest="pcf",namespace="core",percentile="95"} 0.003
h2surge_loadtest_response_time_seconds{loadtest="pcf",namespace="core",percentile="99"} 0.00842
h2surge_loadtest_response_time_seconds{loadtest="pcf",namespace="core",percentile="99.9"} 0.009
h2surge_loadtest_response_time_seconds{loadtest="pcf",namespace="core",percentile="100"} +Inf
# HELP h2surge_loadtest_verdict 1 for the outcome of the verdict; absent until the run ends.
# TYPE h2surge_loadtest_verdict gauge
h2surge_loadtest_verdict{loadtest="pcf",namespace="core",outcome="Passed"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want),
		"h2surge_loadtest_duration_seconds", "h2surge_loadtest_error_ratio", "h2surge_loadtest_rate_requests_per_second",
		"h2surge_loadtest_requests_total", "h2surge_loadtest_response_time_seconds", "h2surge_loadtest_verdict"); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestWaiting: a test that waits for its turn has a series, and one that is stuck has none.
func TestWaiting(t *testing.T) {
	c, reg, _ := registered(time.Minute, 10)
	before := &v1alpha1.LoadTestStatus{}
	for _, tc := range []struct {
		blocked *run.Blocker
		waits   int
	}{
		{run.NotReady(v1alpha1.ReasonWaitingForLock, "lock amf is held by core/other"), 1},
		{run.NotReady(v1alpha1.ReasonLockNotGiven, "lock amf is held by core/other, whose pod other-1-0 has not ended"), 0},
		{run.NotReady(v1alpha1.ReasonQueued, "the Job is suspended by a queue"), 1},
		{run.NotReady(v1alpha1.ReasonWaitingForPods, "a pod is missing"), 0},
	} {
		f := runtest.New()
		f.Problem = tc.blocked
		after := status.Of(f)
		c.Observe(pcf, before, after)
		if n := series(t, reg)["h2surge_loadtest_waiting"]; n != tc.waits {
			t.Errorf("%s: %d series, want %d", tc.blocked.Reason, n, tc.waits)
		}
		before = after
	}
}

func TestLastValuesStayForATime(t *testing.T) {
	c, reg, clock := registered(15*time.Minute, 10)
	running := status.Of(walk()[2])
	phases := func() int { return series(t, reg)["h2surge_loadtest_phase"] }

	c.Observe(pcf, &v1alpha1.LoadTestStatus{}, running)
	*clock = clock.Add(time.Hour)
	if n := phases(); n != 1 {
		t.Errorf("%d series of a run that goes on", n)
	}
	c.Observe(pcf, running, endedAt(*clock))
	c.Forget(pcf)
	*clock = clock.Add(15*time.Minute - 1)
	if n := phases(); n != 1 {
		t.Errorf("%d series of a deleted LoadTest within the time", n)
	}
	*clock = clock.Add(1)
	if n := phases(); n != 0 {
		t.Errorf("%d series after the time", n)
	}
	c.Observe(pcf, endedAt(runtest.Now), endedAt(runtest.Now)) // an operator that begins sees old runs
	if n := phases(); n != 0 {
		t.Errorf("%d series of a run that ended long ago", n)
	}
	c.Observe(pcf, &v1alpha1.LoadTestStatus{}, running)
	c.Forget(pcf)
	if n := phases(); n != 0 {
		t.Errorf("%d series of a LoadTest that was deleted before its end", n)
	}
	if n := counted(t, reg, "h2surge_loadtest_runs_total"); n != 1 {
		t.Errorf("%v runs were counted", n)
	}
}

func TestLastValuesAreBounded(t *testing.T) {
	c, reg, _ := registered(time.Hour, 3)
	running := status.Of(walk()[2])
	for i := range 5 {
		key := types.NamespacedName{Namespace: "core", Name: strconv.Itoa(i)}
		c.Observe(key, running, endedAt(runtest.Now.Add(time.Duration(i)*time.Second)))
		c.Observe(types.NamespacedName{Namespace: "runs", Name: strconv.Itoa(i)}, running, running)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if f.GetName() != "h2surge_loadtest_phase" {
			continue
		}
		for _, m := range f.GetMetric() {
			got = append(got, m.GetLabel()[1].GetValue()+"/"+m.GetLabel()[0].GetValue())
		}
	}
	slices.Sort(got)
	want := []string{"core/2", "core/3", "core/4", "runs/0", "runs/1", "runs/2", "runs/3", "runs/4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LoadTests with series (-want +got):\n%s", diff)
	}
}

func TestIncompleteRules(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := metric.Register(reg, NewCollector(time.Minute, 10, time.Now))
	for _, rules := range [][]string{{"APIServer", "Nodes"}, {"Nodes"}, nil} {
		c.ObserveRules(rules)
		if got := series(t, reg)["h2surge_operator_rule_incomplete"]; got != len(rules) {
			t.Errorf("%d series of %q", got, rules)
		}
	}
}
