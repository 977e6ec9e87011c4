package baseline

import (
	"math"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// run is a report of n requests with a median of 1 ms and a p99 of 4 ms, of which some failed their checks.
func run(n, failed int64) *rv.Report {
	t := rv.Times{Count: n, Min: 500, Mean: 1000, P50: 1000, P90: 2000, P95: 3000, P99: 4000, P999: 5000, Max: 6000}
	outcomes := rv.Outcomes{Sent: n, Done: n, Succeeded: n - failed, FailedChecks: failed}
	r := &rv.Report{
		APIVersion: rv.APIVersion, Kind: rv.ReportKind, Name: "core/nightly-1", LoadHash: "0123456789abcdef",
		StartTime: "2026-01-02T02:04:05Z", Requests: rv.Requests{Outcomes: outcomes},
		StatusCodes: map[string]int64{"200": n}, ErrorRate: rv.ErrorRate(float64(failed) / float64(n)),
		Chains: rv.ChainCounters{Started: n, Completed: n - failed, Aborted: failed},
		Rate:   rv.RateResult{Asked: 1000, Achieved: 1000, WindowSeconds: float64(n) / 1000},
		Stages: []rv.StageResult{{Name: "hold", Asked: 1000, Achieved: 1000, Sent: n}},
		Steps:  []rv.StepResult{{Chain: "app", Step: "create", Outcomes: outcomes, ResponseTime: t}},
		Listeners: []rv.ListenerResult{{Name: "events", Time: t, ListenerCounts: rv.ListenerCounts{
			Received: n, Awaited: n, InTime: n,
			Measured: rv.AwaitCounts{Awaited: n, InTime: n}}}},
		ResponseTime: t, Lag: rv.Times{Count: n, P99: 10}, Generator: rv.GeneratorResult{Shards: 2},
		Verdict: rv.Verdict{Outcome: rv.OutcomePassed, Reason: "Passed"},
	}
	if failed > 0 {
		r.Chains.AbortedBy = map[string]int64{"failedCheck": failed}
		r.Steps[0].FailedBy = map[string]int64{"status": failed}
		r.Steps[0].ErrorRate = r.ErrorRate
	}
	return r
}

var source = rv.BaselineSource{ConfigMap: "kept"}

func p99(limit string) rv.Baseline {
	return rv.Baseline{Name: "same", Metric: rv.MetricResponseTime, Percentile: "p99", MaxIncrease: limit,
		BaselineSource: source}
}

// compared returns a threshold after the comparison of two reports, as text.
func compared(t *testing.T, b rv.Baseline, a, r *rv.Report) (verdict.Compared, string) {
	t.Helper()
	got, err := Compare(&rv.Plan{Baselines: []rv.Baseline{b}}, r, map[rv.BaselineSource]Found{source: {Report: a}})
	if err != nil {
		t.Fatal(err)
	}
	return got[0], got[0].Result.String()
}

// TestFigures: each figure that package compare judges passes and fails at its limit.
func TestFigures(t *testing.T) {
	of := func(metric rv.Metric, percentile, limit string, of rv.Selector) rv.Baseline {
		return rv.Baseline{Name: "same", Metric: metric, Percentile: percentile, Of: of, MaxIncrease: limit,
			BaselineSource: source}
	}
	step, listener := rv.Selector{Chain: "app", Step: "create"}, rv.Selector{Listener: "events"}
	for _, c := range []struct {
		b    rv.Baseline
		edit func(r *rv.Report)
		want string // of the edited run; the same run passes
	}{
		{p99("10%"), func(r *rv.Report) { r.ResponseTime.P99 = 4401 },
			"same: p99 of ResponseTime 4.4ms > 4ms + 10% (baseline core/nightly-1)"},
		{p99("10%"), func(r *rv.Report) { r.ResponseTime.P99 = 4400 },
			"same: p99 of ResponseTime 4.4ms <= 4ms + 10% (baseline core/nightly-1)"},
		{p99("0%"), func(r *rv.Report) { r.ResponseTime.P99 = rv.Above(5_000_000) },
			"same: p99 of ResponseTime > 5s (no response), limit <= 4ms + 0% (baseline core/nightly-1)"},
		{of(rv.MetricResponseTime, "p50", "5%", step), func(r *rv.Report) { r.Steps[0].ResponseTime.P50 = 1051 },
			"same: p50 of ResponseTime of step app/create 1.05ms > 1ms + 5% (baseline core/nightly-1)"},
		{of(rv.MetricRate, "", "5%", rv.Selector{}), func(r *rv.Report) { r.Rate.Achieved = 949 },
			"same: Rate 949/s < 1000/s - 5% (baseline core/nightly-1)"},
		{of(rv.MetricErrorRate, "", "0.1%", rv.Selector{}), func(r *rv.Report) { *r = *run(10_000, 11) },
			"same: ErrorRate 0.11% > 0% + 0.1 points (baseline core/nightly-1)"},
		{of(rv.MetricErrorRate, "", "0.1%", step), func(r *rv.Report) { *r = *run(10_000, 11) },
			"same: ErrorRate of step app/create 0.11% > 0% + 0.1 points (baseline core/nightly-1)"},
		{of(rv.MetricChainsAborted, "", "0.1%", rv.Selector{}), func(r *rv.Report) { *r = *run(10_000, 11) },
			"same: ChainsAborted 0.11% > 0% + 0.1 points (baseline core/nightly-1)"},
		{of(rv.MetricNotificationTime, "p90", "10%", listener), func(r *rv.Report) { r.Listeners[0].Time.P90 = 2300 },
			"same: p90 of NotificationTime of listener events 2.3ms > 2ms + 10% (baseline core/nightly-1)"},
		{of(rv.MetricNotificationErrorRate, "", "1%", listener), func(r *rv.Report) { r.Listeners[0].Measured.InTime = 9800 },
			"same: NotificationErrorRate of listener events 2% > 0% + 1 points (baseline core/nightly-1)"},
	} {
		same, text := compared(t, c.b, run(10_000, 0), run(10_000, 0))
		if !same.Result.Passed || same.Result.Baseline.StartTime != "2026-01-02T02:04:05Z" ||
			same.IsMinimum != (c.b.Metric == rv.MetricRate) {
			t.Errorf("the same run: %s, %+v", text, same)
		}
		b := run(10_000, 0)
		c.edit(b)
		got, text := compared(t, c.b, run(10_000, 0), b)
		if max := map[rv.Metric]float64{rv.MetricErrorRate: 0.001, rv.MetricNotificationTime: 2200}[c.b.Metric]; max > 0 && math.Abs(got.Max-max) > 1e-9*max {
			t.Errorf("%s: the greatest value that passes is %v, want %v", text, got.Max, max)
		}
		if text != c.want || got.Result.Passed != strings.Contains(c.want, " <= 4ms + 10%") {
			t.Errorf("got %q (passed: %v), want %q", text, got.Result.Passed, c.want)
		}
	}
}

// TestNotCompared: a baseline that shows nothing about the run gives no result, and the threshold says why.
func TestNotCompared(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(a, b *rv.Report)
		want string
	}{
		{"another plan", func(a, _ *rv.Report) { a.LoadHash = "fedcba9876543210" },
			"same: p99 of ResponseTime was not compared: the baseline core/nightly-1 has another plan: what it sent has the hash fedcba987654, and that of this run is 0123456789ab"},
		{"an earlier version", func(a, _ *rv.Report) { a.LoadHash = "" }, "was written by an earlier version of h2surge"},
		{"another number of shards", func(a, _ *rv.Report) { a.Generator.Shards = 4 },
			"has another number of shards: 4, and this run had 2"},
		{"an inconclusive baseline", func(a, _ *rv.Report) {
			a.Verdict = rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: "GeneratorBound"}
		}, "shows nothing: its verdict is Inconclusive (GeneratorBound)"},
		{"a baseline whose rates changed", func(a, _ *rv.Report) { a.LoadChanged = true },
			"the baseline core/nightly-1 sent something else: its rates changed while it ran"},
		{"a run whose rates changed", func(_, b *rv.Report) { b.LoadChanged = true },
			"same: p99 of ResponseTime was not compared: the rates of this run changed while it ran"},
		{"a plan", func(a, _ *rv.Report) { a.Kind = "Plan" }, "is not a report"},
		{"a damaged report", func(a, _ *rv.Report) { a.Requests.Done-- },
			"has figures that contradict each other: requests: sent is 10000"},
		{"few requests", func(a, b *rv.Report) { *a, *b = *run(100, 0), *run(100, 0) },
			"the runs have too few requests: p50 needs 20, p99 needs 1000"},
		{"a lagging baseline", func(a, b *rv.Report) { a.Lag.P99, b.ResponseTime.P99 = 20_000, 8000 },
			"it is worse (response time p99 4ms -> 8ms (+100%)), but the generator of the baseline core/nightly-1 lagged"},
	} {
		a, b := run(10_000, 0), run(10_000, 0)
		c.edit(a, b)
		got, text := compared(t, p99("10%"), a, b)
		if got.Result.Passed || got.Result.NotCompared() == "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
	got, err := Compare(&rv.Plan{Baselines: []rv.Baseline{p99("10%")}}, run(1, 0),
		map[rv.BaselineSource]Found{source: {Why: "it does not exist"}})
	if want := "same: p99 of ResponseTime was not compared: the baseline, ConfigMap kept: it does not exist"; err != nil ||
		got[0].Result.String() != want {
		t.Errorf("got %q, %v, want %q", got[0].Result.String(), err, want)
	}
}

// TestFirstRun: a run that only lacked a baseline is a baseline. A run that is worse than a baseline whose generator
// lagged is not one: the next run would be compared with the worse figure, and pass.
func TestFirstRun(t *testing.T) {
	first, lagging, worse, next := run(10_000, 0), run(10_000, 0), run(10_000, 0), run(10_000, 0)
	got, err := Compare(&rv.Plan{Baselines: []rv.Baseline{p99("10%")}}, first, nil)
	if err != nil {
		t.Fatal(err)
	}
	notCompared := rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: verdict.ReasonNotCompared}
	first.Verdict, worse.Verdict = notCompared, notCompared
	first.Verdict.Thresholds = []rv.ThresholdResult{got[0].Result}
	if got, text := compared(t, p99("10%"), first, next); !got.Result.Passed {
		t.Error(text)
	}
	lagging.Lag.P99, worse.ResponseTime.P99 = 20_000, 4900
	against, _ := compared(t, p99("10%"), lagging, worse)
	worse.Verdict.Thresholds = []rv.ThresholdResult{against.Result}
	if got, text := compared(t, p99("10%"), worse, next); got.Result.Passed || !strings.Contains(text, "shows nothing: its verdict is Inconclusive (NotCompared)") {
		t.Error(text)
	}
}
