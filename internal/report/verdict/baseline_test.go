package verdict

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestBaselines: a threshold with a baseline fails the run as another one does, and without a comparison the run is
// Inconclusive, unless another threshold failed. The generator excuses a time.
func TestBaselines(t *testing.T) {
	against := func(passed bool, notCompared string) Compared {
		return Compared{Above: 1000, Result: rv.ThresholdResult{Name: "same", Metric: rv.MetricResponseTime,
			Percentile: "p99",
			Observed:   "12ms", Limit: "<= 8ms + 10%", Passed: passed,
			Baseline: &rv.BaselineResult{Name: "core/nightly-1", StartTime: "2026-01-02T02:04:05Z", NotCompared: notCompared}}}
	}
	errors := Compared{Max: 0.001, Result: rv.ThresholdResult{Name: "same", Metric: rv.MetricErrorRate,
		Observed: "10%", Limit: "<= 0% + 0.1 points", Baseline: &rv.BaselineResult{Name: "core/nightly-1"}}}
	limited := func(succeeded, dropped int64) func(r *rv.Report) {
		return func(r *rv.Report) {
			sent := 1000 - dropped
			r.Requests = rv.Requests{Dropped: dropped, Outcomes: rv.Outcomes{Sent: sent, Done: sent, Succeeded: succeeded, FailedChecks: sent - succeeded}}
			r.Generator.Limited.Dropped = dropped
			r.Failures = []rv.FailureCount{{Failure: rv.Failure{Of: rv.FailureDropped, Cause: rv.CauseRequestLimit}, Count: dropped}}
		}
	}
	for _, c := range []struct {
		name     string
		compared Compared
		edit     func(*rv.Report)
		want     rv.Outcome
		reason   string
		message  string
	}{
		{"passed", against(true, ""), nil, rv.OutcomePassed, ReasonPassed,
			"the run completed and all thresholds passed; compared with core/nightly-1 of 2026-01-02T02:04:05Z"},
		{"worse", against(false, ""), nil, rv.OutcomeFailed, ReasonThresholdsFailed,
			"same: p99 of ResponseTime 12ms > 8ms + 10% (baseline core/nightly-1)"},
		{"not compared", against(false, "it is gone"), nil, rv.OutcomeInconclusive, ReasonNotCompared,
			"same: p99 of ResponseTime was not compared: it is gone"},
		{"not compared, and too many errors", against(false, "it is gone"), func(r *rv.Report) {
			r.Requests.Succeeded, r.Requests.FailedChecks, r.ErrorRate = 0, 1000, 1
		}, rv.OutcomeFailed, ReasonTooManyErrors, ""},
		{"worse, and the generator lagged", against(false, ""), func(r *rv.Report) { r.Lag.P99, r.Lag.Max = 20_000, 20_000 },
			rv.OutcomeInconclusive, ReasonGeneratorBound, ""},
		{"more errors, and all of them are those of the operator's limit", errors, limited(900, 100), rv.OutcomeInconclusive, ReasonGeneratorBound, ""},
		{"more errors, and one is that of the operator's limit", errors, limited(900, 1), rv.OutcomeFailed, ReasonThresholdsFailed, ""},
	} {
		n := int64(1000)
		r := &rv.Report{Requests: rv.Requests{Outcomes: rv.Outcomes{Sent: n, Done: n, Succeeded: n}},
			Rate: rv.RateResult{Asked: 100, Achieved: 100, WindowSeconds: 10}, Generator: rv.GeneratorResult{Shards: 1,
				Workers: 1},
			Chains: rv.ChainCounters{Started: n, Completed: n}, ResponseTime: rv.Times{Count: n}}
		if c.edit != nil {
			c.edit(r)
		}
		got, err := Judge(&rv.Plan{Rates: []rv.Rate{{Count: 100, Period: 1e9, Duration: 10e9}}, Shards: 1}, r,
			Facts{Compared: []Compared{c.compared}})
		if err != nil {
			t.Fatal(err)
		}
		if got.Outcome != c.want || got.Reason != c.reason || c.message != "" && got.Message != c.message ||
			len(got.Thresholds) != 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
