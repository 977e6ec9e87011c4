package verdict

import (
	"fmt"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Throttled begins the cause of a generator whose CPU quota kept it from running.
const Throttled = "it was throttled for "

// cause says how the generator may have been the bottleneck; "": it was not.
func cause(in *input) string {
	if !in.plan.AsksForRate() {
		return ""
	}
	var out []string
	if lag := WorstLag(in.report); lag > MaxLag {
		out = append(out, fmt.Sprintf("it lagged (p99 %s)", build.FormatTime(lag)))
	}
	if throttled(in.report) > MaxThrottled {
		out = append(out, Throttled+build.FormatTime(in.report.Generator.ThrottledMicroseconds))
	}
	return strings.Join(out, " and ")
}

// WorstLag returns the p99 of the lag of requests, or that of the generator if it is larger.
func WorstLag(r *runnerv1alpha1.Report) int64 {
	return max(r.Lag.P99, r.Generator.LagP99Microseconds)
}

// throttled returns the throttled time as a share of the measured window, on average over the shards. It can be above
// 1: threads on several CPUs are throttled at the same time, and throttling during the drain counts, but the window
// does not contain the drain.
func throttled(r *runnerv1alpha1.Report) float64 {
	window := r.Rate.WindowSeconds * float64(r.Generator.Shards)
	if window <= 0 {
		return 0
	}
	return float64(r.Generator.ThrottledMicroseconds) / 1e6 / window
}

// excused returns whether the threshold may have failed because of the generator or a lost shard.
func (in *input) excused(c *comparison) bool {
	if in.tooFew(c) {
		return true
	}
	if in.cause == "" || c.unanswered {
		return false // lag makes a response late, but does not prevent it
	}
	if c.result.Metric == runnerv1alpha1.MetricRate {
		return c.isMinimum
	}
	return c.result.Metric.IsTime() && !c.isMinimum && !in.beyondLag(c)
}

// beyondLag returns whether a time is so far above its maximum that lag cannot be the cause. A pause of the generator
// makes the requests of that time late by at most its length, and then they arrive at the target together, which
// delays them by as much again. The largest lag is the length of the longest pause. That does not hold for a generator
// without idle CPU: it also reads responses late, one after another.
func (in *input) beyondLag(c *comparison) bool {
	longest := max(in.report.Lag.Max, WorstLag(in.report))
	return throttled(in.report) <= MaxThrottled && !in.saturated() && c.above > 2*float64(longest)
}

// saturated returns whether the workers used at least MaxBusy of their CPUs. Workers that spin always do.
func (in *input) saturated() bool {
	l := in.load()
	return in.report.Generator.Idle.SpinShards == 0 && l.busy >= MaxBusy*float64(l.workers)
}

// tooFew returns whether the threshold may have failed because requests were not sent: it is a minimum of the rate,
// and the share of a lost shard is missing or a runner withheld requests; or it is a maximum of the error rate or of
// a response time, and dropped requests count as errors, and as requests without a response. If a lease expired, that
// excuses each such maximum; the operator's limit excuses those that would have held without it.
func (in *input) tooFew(c *comparison) bool {
	switch {
	case c.result.Metric == runnerv1alpha1.MetricRate:
		return c.isMinimum && (in.tolerated() || in.withheld())
	case c.isMinimum || c.result.Metric != runnerv1alpha1.MetricErrorRate && !c.unanswered:
		return false
	}
	return in.report.Generator.LeaseExpired.Shards > 0 || in.byLimit(c)
}
