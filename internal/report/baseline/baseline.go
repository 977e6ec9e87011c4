// Package baseline compares the thresholds of a run that have a baseline with the report of an earlier run, by the
// rules of package compare. The functions are pure: the operator and the command line read the reports.
package baseline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/compare"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// Found is what a program found where the report of a baseline should be.
type Found struct {
	// Report is nil if there is none. Why says so then, such as "it does not exist".
	Report *rv.Report
	Why    string
}

// Compare returns the plan's baselines after the comparison with a report, which needs LoadHash and LoadChanged. A
// source that was not found, and one that is missing in the map, has no report.
func Compare(plan *rv.Plan, r *rv.Report, found map[rv.BaselineSource]Found) ([]verdict.Compared, error) {
	out := make([]verdict.Compared, 0, len(plan.Baselines))
	for i := range plan.Baselines {
		b := &plan.Baselines[i]
		c, err := compareOne(b, r, found[b.BaselineSource])
		if err != nil {
			return nil, fmt.Errorf("threshold %s: %w", b.Name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func compareOne(b *rv.Baseline, r *rv.Report, from Found) (verdict.Compared, error) {
	limit, err := parseIncrease(b.MaxIncrease)
	if err != nil {
		return verdict.Compared{}, err
	}
	out := verdict.Compared{IsMinimum: b.Metric == rv.MetricRate, Result: rv.ThresholdResult{
		Name: b.Name, Metric: b.Metric, Percentile: b.Percentile, Of: b.Of, Observed: rv.ObservedNone,
		Limit: limitText(b, "baseline"), Baseline: &rv.BaselineResult{Name: b.String()},
	}}
	against := out.Result.Baseline
	if r.LoadChanged {
		against.NotCompared = "the rates of this run changed while it ran"
		return out, nil
	}
	if from.Report == nil {
		against.NotCompared = "the baseline, " + b.String() + ": " + from.Why
		return out, nil
	}
	against.Name, against.StartTime = from.Report.Name, from.Report.StartTime
	if why := differs(from.Report, r); why != "" {
		against.NotCompared = "the baseline " + from.Report.Name + " " + why
		return out, nil
	}
	c := compare.Reports(compare.Input{Report: from.Report}, compare.Input{Report: r},
		compare.Options{Tolerance: limit, ErrorTolerance: limit})
	f := figure(c, b)
	if f == nil {
		against.NotCompared = "the baseline " + from.Report.Name + " and the run do not both have this figure"
		return out, nil
	}
	judge(&out, f, b, limit, compare.Lagged(from.Report))
	return out, nil
}

// differs returns why a report cannot be the baseline of another one; "": it can.
func differs(a, r *rv.Report) string {
	if a.Kind != rv.ReportKind {
		return "is not a report"
	}
	if err := build.Check(a); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return "has figures that contradict each other: " + first
	}
	switch o := a.Verdict.Outcome; {
	case a.LoadHash == "":
		return "was written by an earlier version of h2surge, which did not record what was sent"
	case a.LoadChanged:
		return "sent something else: its rates changed while it ran"
	case a.LoadHash != r.LoadHash:
		return fmt.Sprintf("has another plan: what it sent has the hash %.12s, and that of this run is %.12s", a.LoadHash,
			r.LoadHash)
	case a.Generator.Shards != r.Generator.Shards:
		return fmt.Sprintf("has another number of shards: %d, and this run had %d", a.Generator.Shards, r.Generator.Shards)
	case IsCandidate(&a.Verdict):
	case o == rv.OutcomeInconclusive, o == rv.OutcomeError:
		return fmt.Sprintf("shows nothing: its verdict is %s (%s)", o, a.Verdict.Reason)
	}
	return ""
}

// IsCandidate returns whether the run of a verdict can be a baseline: it passed, or it only lacked a baseline itself,
// as the first run of a schedule does. A run that could not be compared with the baseline that it had is not one: it
// can be worse.
func IsCandidate(v *rv.Verdict) bool {
	if v.Outcome == rv.OutcomeInconclusive && v.Reason == verdict.ReasonNotCompared {
		return !slices.ContainsFunc(v.Thresholds, func(t rv.ThresholdResult) bool {
			return t.NotCompared() != "" && t.Observed != rv.ObservedNone
		})
	}
	return v.Outcome == rv.OutcomePassed
}

// judge sets the result of a threshold.
func judge(out *verdict.Compared, f *compare.Figure, b *rv.Baseline, limit float64, lagged bool) {
	against := out.Result.Baseline
	out.Result.Observed, against.Value, against.Change = f.Format(f.B), f.Format(f.A), f.FormatChange()
	out.Result.Limit = limitText(b, against.Value)
	out.Result.Passed = f.Result == compare.Within || f.Result == compare.Better
	switch {
	case f.A == nil || f.B == nil: // package compare did not judge it
	case f.Unit == compare.Microseconds:
		out.Max = *f.A * (1 + limit)
		if _, out.Unanswered = rv.LimitOf(int64(*f.B)); !out.Unanswered {
			out.Above = *f.B - out.Max
		}
	default:
		out.Max = *f.A + limit
	}
	switch {
	case f.Result == compare.NotJudged:
		against.NotCompared = notJudged(f) + " (baseline " + against.Name + ")"
	case !out.Result.Passed && lagged && f.Unit != compare.Ratio:
		against.NotCompared = fmt.Sprintf("it is worse (%s), but the generator of the baseline %s lagged", f, against.Name)
	}
}

// notJudged returns why package compare does not judge a figure.
func notJudged(f *compare.Figure) string {
	switch {
	case f.A == nil || f.B == nil:
		return "one of the runs did not measure it"
	case f.Unit == compare.PerSecond:
		return "the runs asked for different rates"
	}
	return "the runs have too few requests: p50 needs 20, p99 needs 1000"
}

// limitText returns "<= 8.42ms + 10%", and ">= 1000/s - 10%" for a rate.
func limitText(b *rv.Baseline, value string) string {
	switch {
	case b.Metric == rv.MetricRate:
		return ">= " + value + " - " + b.MaxIncrease
	case b.Metric.IsTime():
		return "<= " + value + " + " + b.MaxIncrease
	}
	return "<= " + value + " + " + b.MaxIncrease[:len(b.MaxIncrease)-1] + " points"
}

// figure returns the figure of a comparison that a threshold is on; nil: one of the runs does not have it.
func figure(c *compare.Comparison, b *rv.Baseline) *compare.Figure {
	name, step := "", ""
	switch b.Metric {
	case rv.MetricRate:
		name = "rate"
	case rv.MetricChainsAborted:
		name = "aborted chains"
	case rv.MetricErrorRate, rv.MetricNotificationErrorRate:
		name = "error rate"
	case rv.MetricResponseTime:
		name = "response time " + b.Percentile
	case rv.MetricNotificationTime:
		name = "notification time " + b.Percentile
	}
	if b.Of.Step != "" {
		step = b.Of.Chain + "/" + b.Of.Step
	}
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Name == name && f.Step == step && f.Listener == b.Of.Listener && f.Target == "" {
			return f
		}
	}
	return nil
}

// parseIncrease returns 0.1 for "10%".
func parseIncrease(text string) (float64, error) {
	var percent float64
	if _, err := fmt.Sscanf(text, "%f%%", &percent); err != nil || percent < 0 || math.IsInf(percent, 0) {
		return 0, fmt.Errorf("maxIncrease %q is not a percentage", text)
	}
	return percent / 100, nil
}
