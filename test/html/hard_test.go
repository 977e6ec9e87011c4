//go:build html

package html

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// harden gives a report what is hard to draw: stages whose rates differ by 300 times, a short last window in which the load
// ends, long names, and a run without errors.
func harden(r *runnerv1alpha1.Report) {
	r.Name = "core/sessions-of-a-customer-with-a-long-name-in-a-namespace-that-has-one-too"
	for i := range r.Windows {
		w := &r.Windows[i]
		w.FailedChecks, w.TimedOut, w.Reset, w.ConnectionLost, w.Dropped = 0, 0, 0, 0, 0
		if w.WarmUp {
			w.Asked, w.Achieved = w.Asked/25, w.Achieved/25
		}
	}
	r.Stages[0].Asked, r.Stages[0].Achieved = 20, 20
	r.ErrorRate = 0
	r.Requests = runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: 300_000, Done: 300_000, Succeeded: 300_000}}
	last := r.Windows[len(r.Windows)-1]
	last.From, last.To = last.To, last.To+210
	last.Asked, last.Achieved, last.Sent = 86, 86, 18
	r.Windows = append(r.Windows, last)
	const long = "sessions-are-created-within-the-time-of-the-service-level"
	times := func(us int64) runnerv1alpha1.Times {
		return runnerv1alpha1.Times{Count: 1000, Min: us, Mean: us, P50: us, P90: us, P99: us, Max: us}
	}
	for _, name := range []string{"customers", "payments-of-customers-with-a-long-name"} {
		r.Targets = append(r.Targets, runnerv1alpha1.TargetResult{Name: name, Reconnecting: times(0), Blocked: times(120), TimeToFirstByte: times(1900), Body: times(300)})
	}
	r.Verdict.Message = "https://customers.example.test/" + long + "/" + long + ": p99.9 56.8ms > 30ms"
	r.Verdict.Thresholds = append(r.Verdict.Thresholds,
		runnerv1alpha1.ThresholdResult{Name: long, Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p99.9", Limit: "<= 30ms", Observed: "56.8ms"},
		runnerv1alpha1.ThresholdResult{Name: long + "-2", Metric: runnerv1alpha1.MetricResponseTime, Percentile: "p50", Limit: "<= 28ms", Observed: "1.5ms", Passed: true},
	)
}
