package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/internal/report/build"
)

// rate rounds a rate to six decimals, and share a share to nine, so that status has no digits that mean nothing.
func rate(v float64) float64 { return rounded(v, 1e6) }

func share(v float64) float64 { return rounded(v, 1e9) }

// rounded returns 0 for an infinity, which JSON does not have.
func rounded(v, scale float64) float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	return math.Round(v*scale) / scale
}

// results is the compact form of the report for status.
func results(f *run.Facts) *v1alpha1.Results {
	r, q := f.Report, &f.Report.Requests
	return &v1alpha1.Results{
		Requests: v1alpha1.RequestCounts{
			Sent: q.Sent, Done: q.Done, Succeeded: q.Succeeded, FailedChecks: q.FailedChecks,
			TimedOut: q.TimedOut, Reset: q.Reset, ConnectionLost: q.ConnectionLost,
			InFlightAtEnd: q.InFlightAtEnd, Dropped: q.Dropped, Retried: q.Retried,
		},
		WarmUpSent:   r.WarmUp.Sent,
		Setup:        v1alpha1.OnceResult(r.Setup),
		Teardown:     v1alpha1.OnceResult(r.Teardown),
		Causes:       mostFrequent(r.Causes, maxCauses),
		Failures:     failures(r.Failures),
		Exhausted:    r.Exhausted,
		Rate:         rateStatus(&r.Rate),
		ErrorRate:    errorRate(q.Sent+q.Dropped, q.Succeeded, q.InFlightAtEnd, f.View.Over()),
		ResponseTime: compactTimes(&r.ResponseTime),
		Stages:       stageResults(r.Stages),
		Chains:       chainResults(f.Plan.Chains, f.View.Progress.Chains, r.Steps, f.View.Over()),
		Listeners:    listenerResults(r.Listeners, f.View.Over()),
		Observations: observationResults(r.Observations),
		Partial:      f.Incomplete(),
	}
}

// errorRate is 1 - succeeded / all. While the test runs, what is in flight is not an error yet.
func errorRate(all, succeeded, inFlight int64, over bool) float64 {
	if !over {
		all -= inFlight
	}
	return share(float64(all-succeeded) / float64(max(1, all)))
}

// stageResults are the stages with figures, which the report has after the end.
func stageResults(all []runnerv1alpha1.StageResult) (out []v1alpha1.StageResult) {
	for i := range all {
		s := &all[i]
		if s.Figures == nil {
			continue
		}
		stage := v1alpha1.StageResult{
			Name: s.Name, Sent: s.Sent, Dropped: s.Dropped, Succeeded: s.Figures.Succeeded,
			ErrorRate: share(float64(s.Figures.ErrorRate)),
			Rate: rateStatus(&runnerv1alpha1.RateResult{Asked: s.Asked, Achieved: s.Achieved, AskedChains: s.AskedChains,
				AchievedChains: s.AchievedChains}),
		}
		if s.Figures.ResponseTime.Count > 0 {
			times := compactTimes(&s.Figures.ResponseTime)
			stage.ResponseTime = &times
		}
		out = append(out, stage)
	}
	return out
}

func rateStatus(r *runnerv1alpha1.RateResult) v1alpha1.RateStatus {
	out := v1alpha1.RateStatus{Asked: rate(r.Asked), Achieved: rate(r.Achieved)}
	if r.AskedChains > 0 {
		out.AskedChains, out.AchievedChains = rate(r.AskedChains), rate(r.AchievedChains)
	}
	return out
}

// How many counts by name there are in status; the report has all of them. A test can have 256 steps.
const (
	maxCauses   = 16
	maxFailures = 16
	maxReasons  = 16
	maxFailedBy = 8
)

func mostFrequent(counts map[string]int64, limit int) (out []v1alpha1.NamedCount) {
	for _, c := range build.MostFrequent(counts, limit) {
		out = append(out, v1alpha1.NamedCount(c))
	}
	return out
}

// failures are the most frequent ones.
func failures(all []runnerv1alpha1.FailureCount) (out []v1alpha1.FailureCount) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b runnerv1alpha1.FailureCount) int { return cmp.Compare(b.Count, a.Count) })
	for _, f := range all[:min(maxFailures, len(all))] {
		out = append(out, v1alpha1.FailureCount{
			Of: shorten.To(string(f.Of), 32), Cause: shorten.To(string(f.Cause), 32), Detail: f.Detail, Address: f.Address,
			Count: f.Count,
		})
	}
	return out
}

func compactTimes(t *runnerv1alpha1.Times) v1alpha1.Times {
	var out v1alpha1.Times
	for _, f := range []struct {
		from int64
		to   **int64
	}{{t.P50, &out.P50Microseconds}, {t.P90, &out.P90Microseconds}, {t.P95, &out.P95Microseconds},
		{t.P99, &out.P99Microseconds}, {t.P999, &out.P999Microseconds}, {t.Max, &out.MaxMicroseconds}} {
		if limit, above := runnerv1alpha1.LimitOf(f.from); above {
			out.AboveMicroseconds = limit
		} else {
			*f.to = &f.from
		}
	}
	return out
}

// listenerResults are those of the report. While the test runs, a step that waits is not an error yet.
func listenerResults(all []runnerv1alpha1.ListenerResult, over bool) (out []v1alpha1.ListenerResult) {
	for i := range all {
		l := &all[i]
		failed := l.ErrorRate()
		if !over {
			failed = l.ErrorRateSoFar()
		}
		out = append(out, v1alpha1.ListenerResult{
			Name: l.Name, Received: l.Received, InTime: l.InTime, Late: l.Late, Duplicate: l.Duplicate, Unexpected: l.Unexpected,
			Answered:     l.Answered,
			RefusedToken: l.RefusedToken, RefusedCertificate: l.RefusedCertificate, FailedHandshakes: l.FailedHandshakes,
			Awaited: l.Awaited, Missing: l.Missing, FailedChecks: l.FailedChecks,
			ErrorRate: share(failed), Time: compactTimes(&l.Time),
		})
	}
	return out
}

// observationResults have the series with the highest mean.
func observationResults(all []runnerv1alpha1.ObservationResult) (out []v1alpha1.ObservationStatus) {
	for i := range all {
		o := v1alpha1.ObservationStatus{Name: all[i].Name}
		found := false
		for k := range all[i].Series {
			if f := &all[i].Series[k].Figures; f.Samples > 0 && (!found || f.Mean > o.Mean) {
				o.Mean, o.P95, o.Max, found = f.Mean, f.P95, f.Max, true
			}
		}
		if found {
			out = append(out, o)
		}
	}
	return out
}

// chainResults relies on the report's steps and the counts of chains being in the order of the plan's.
func chainResults(chains []runnerv1alpha1.Chain, counters []runnerv1alpha1.ChainCounters,
	steps []runnerv1alpha1.StepResult, over bool) (out []v1alpha1.ChainResult) {
	for i := range chains {
		chain := v1alpha1.ChainResult{
			Name: chains[i].Name, Started: counters[i].Started,
			Completed: counters[i].Completed, Aborted: counters[i].Aborted,
			AbortedBy: mostFrequent(counters[i].AbortedBy, maxReasons),
		}
		for range chains[i].Steps {
			step := &steps[0]
			steps = steps[1:]
			chain.Steps = append(chain.Steps, v1alpha1.StepResult{
				Name: step.Step, Sent: step.Sent, Succeeded: step.Succeeded,
				Failed:       step.Sent - step.Succeeded - step.InFlightAtEnd,
				FailedBy:     mostFrequent(step.FailedBy, maxFailedBy),
				ErrorRate:    errorRate(step.Sent, step.Succeeded, step.InFlightAtEnd, over),
				ResponseTime: compactTimes(&step.ResponseTime),
			})
		}
		out = append(out, chain)
	}
	return out
}

// summary has the strings of kubectl get. Its rate is that of the moment while load is sent,
// afterwards that of the whole test. The report of a test that ends before its start has no figures.
func summary(n *v1alpha1.ShardCounts, view *shards.View, r *runnerv1alpha1.Report) *v1alpha1.Summary {
	out := &v1alpha1.Summary{Shards: fmt.Sprintf("%d/%d", n.Ready, n.Desired)}
	if view.Progress == nil || !view.Over() && view.StartedAt.IsZero() {
		return out
	}
	out.Rate, out.Errors = build.FormatRate(view.Rate), build.FormatPercent(view.Progress.ErrorRate)
	if view.Over() {
		out.Rate, out.Errors = build.FormatRate(r.Rate.Achieved), build.FormatPercent(float64(r.ErrorRate))
	}
	if r.ResponseTime.Count > 0 {
		out.P50, out.P99 = build.FormatTime(r.ResponseTime.P50), build.FormatTime(r.ResponseTime.P99)
	}
	return out
}

func thresholds(all []runnerv1alpha1.ThresholdResult) (out []v1alpha1.ThresholdStatus) {
	for i := range all {
		t := &all[i]
		st := v1alpha1.ThresholdStatus{
			Name: t.Name, Figure: shorten.To(t.Figure(), 512), Limit: shorten.To(t.Limit, 64), Observed: shorten.To(t.Observed,
				64), Passed: t.Passed, NotCompared: shorten.To(t.NotCompared(), 512),
		}
		if t.Baseline != nil {
			st.Baseline = shorten.To(t.Baseline.Name, 320)
		}
		out = append(out, st)
	}
	return out
}
