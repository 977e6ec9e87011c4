package search

import (
	"fmt"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
	"github.com/h2surge/h2surge/internal/verdict"
)

// Waits returns whether all runners wait at the begin of a probe, and all their earlier requests have an outcome. No request is in
// flight or waits for a stream then, so the difference of the snapshots at two such points is exactly what was sent between them.
func Waits(plan *rv.Plan, probe int, snapshots []rv.Snapshot) bool {
	first, _ := plan.Search.Stages(probe)
	found := false
	for i := range snapshots {
		s := &snapshots[i]
		if s.State == rv.StateDone {
			continue
		}
		found = true
		if s.StartedAt == 0 || s.EndedAt != 0 || !s.Suspended || len(s.Stages) != len(plan.Rates) || unsettled(s, first) {
			return false
		}
	}
	return found
}

// unsettled returns whether a runner has not ended the stages before one, or has requests of them without an outcome, or has slots
// of that stage.
func unsettled(s *rv.Snapshot, stage int) bool {
	if s.Counters.InFlightAtEnd+s.Counters.WarmUpInFlight > 0 || s.Stages[stage].Slots > 0 {
		return true
	}
	for i := range s.Stages[:stage] {
		if c := &s.Stages[i]; c.Ended == 0 || c.Slots > c.Sent+c.Dropped {
			return true
		}
	}
	return false
}

// Figures returns what a probe showed. The snapshots are of all runners before and after it, while they waited.
func Figures(plan *rv.Plan, probe int, load int64, before, after []rv.Snapshot, facts verdict.Facts) (rv.ProbeResult, error) {
	_, measured := plan.Search.Stages(probe)
	out := rv.ProbeResult{Load: load}
	only, snapshots, err := result.Between(plan, measured, before, after)
	if err != nil {
		return out, fmt.Errorf("probe %d: %w", probe+1, err)
	}
	only.Search = nil
	report, err := result.Build(result.Input{Plan: only, Snapshots: snapshots})
	if err != nil {
		return out, fmt.Errorf("probe %d: %w", probe+1, err)
	}
	v, err := verdict.Judge(only, report, facts)
	if err != nil {
		return out, fmt.Errorf("probe %d: %w", probe+1, err)
	}
	q := &report.Requests
	out.Achieved, out.ErrorRate, out.ResponseTime = report.Rate.Achieved, report.ErrorRate, report.ResponseTime
	out.Sent, out.Succeeded, out.Dropped = q.Sent, q.Succeeded, q.Dropped
	out.Thresholds = v.Thresholds
	if out.Outcome = outcomeOf(&v); out.Outcome != rv.ProbeHeld {
		out.Message = v.Message
	}
	return out, nil
}

// outcomeOf returns what a verdict means for a search.
func outcomeOf(v *rv.Verdict) rv.ProbeOutcome {
	switch {
	case v.Outcome == rv.OutcomePassed:
		return rv.ProbeHeld
	case v.Outcome == rv.OutcomeFailed, v.Reason == verdict.ReasonNoSuccess:
		return rv.ProbeFailed
	case v.Reason == verdict.ReasonGeneratorBound:
		return rv.ProbeGeneratorBound
	}
	return rv.ProbeInvalid
}

// Rates returns the rates of a plan, with a load for a probe.
func Rates(plan *rv.Plan, rates []rv.Rate, probe int, load int64) []rv.Rate {
	out := append([]rv.Rate(nil), rates...)
	first, measured := plan.Search.Stages(probe)
	for i := first; i <= measured; i++ {
		out[i].Count = load
	}
	return out
}

// Line returns a probe as a line of text, such as
//
//	probe 3: 4000 requests per second held: p50 1.2ms, p99 8.4ms, errors 0%
func Line(s *rv.Search, number int, p *rv.ProbeResult) string {
	out := fmt.Sprintf("probe %d: %s ", number, s.Text(p.Load))
	switch p.Outcome {
	case rv.ProbeHeld:
		out += "held"
	case rv.ProbeFailed:
		out += "failed"
	case rv.ProbeGeneratorBound:
		out += "were too many for the generator"
	case rv.ProbeInvalid:
		return out + "are probed again: " + p.Message
	}
	out += fmt.Sprintf(": p50 %s, p99 %s, errors %s", result.FormatTime(p.ResponseTime.P50), result.FormatTime(p.ResponseTime.P99), result.FormatPercent(float64(p.ErrorRate)))
	if failed := failedOf(p); failed != "" {
		out += "; " + failed
	}
	return out
}

// failedOf returns the thresholds that failed.
func failedOf(p *rv.ProbeResult) string {
	var out []string
	for i := range p.Thresholds {
		if t := &p.Thresholds[i]; !t.Passed {
			out = append(out, t.String())
		}
	}
	return strings.Join(out, "; ")
}
