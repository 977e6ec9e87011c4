package search

import (
	"fmt"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// Waits returns whether all runners wait at the begin of a probe, and all their earlier requests and notifications
// have an outcome. No request is in flight or waits for a stream then, and no step waits for a notification, so the
// difference of the snapshots at two such points is exactly what was sent between them.
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

// unsettled returns whether a runner has not ended the stages before one, or has requests or steps of them without an
// outcome, or has slots of that stage.
func unsettled(s *rv.Snapshot, stage int) bool {
	if s.Counters.InFlightAtEnd+s.Counters.WarmUpInFlight > 0 || s.Stages[stage].Slots > 0 {
		return true
	}
	for i := range s.Listeners {
		if s.Listeners[i].Waiting > 0 {
			return true
		}
	}
	for i := range s.Stages[:stage] {
		if c := &s.Stages[i]; c.Ended == 0 || c.Slots > c.Sent+c.Dropped {
			return true
		}
	}
	return false
}

// Figures returns what a probe showed. The snapshots are of all runners before and after it, while they waited.
func Figures(plan *rv.Plan, probe int, load int64, before, after []rv.Snapshot, facts verdict.Facts) (rv.ProbeResult,
	error) {
	_, measured := plan.Search.Stages(probe)
	out := rv.ProbeResult{Load: load}
	only, snapshots, err := build.Between(plan, measured, before, after)
	if err != nil {
		return out, fmt.Errorf("probe %d: %w", probe+1, err)
	}
	only.Search = nil
	report, err := build.Build(build.Input{Plan: only, Snapshots: snapshots})
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
	if out.Outcome = outcomeOf(&v, report.Lag.P50); out.Outcome != rv.ProbeHeld {
		out.Message = v.Message
	} else if why := heldBack(plan, report); why != "" {
		out.Outcome, out.Message = rv.ProbeGeneratorBound, why
	}
	return out, nil
}

// maxWaited is the largest share of the requests of a closed loop that may wait for the operator's limit.
const maxWaited = 0.01

// heldBack returns a message if the operator's limit kept the requests in flight below the concurrency of a probe, else
// "". The requests that waited include those of the warm-up.
func heldBack(plan *rv.Plan, report *rv.Report) string {
	waited, sent := report.Generator.Limited.Waited, report.Requests.Sent+report.WarmUp.Sent
	if !plan.Search.Concurrency || float64(waited) <= maxWaited*float64(sent) {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d waited", verdict.HeldBack, waited, sent)
}

// outcomeOf returns what a verdict means for a search. If half of the requests left late, the load was too high for the
// generator, also if errors failed the probe: a busy generator reads responses late, so streams stay occupied and
// requests are dropped. lag is the median in microseconds.
func outcomeOf(v *rv.Verdict, lag int64) rv.ProbeOutcome {
	switch {
	case v.Outcome == rv.OutcomePassed:
		return rv.ProbeHeld
	case v.Outcome == rv.OutcomeFailed && lag > verdict.MaxLag:
		return rv.ProbeGeneratorBound
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

// Line returns a probe as a line of text; see Words.
func Line(s *rv.Search, number int, p *rv.ProbeResult) string {
	w := Words{
		Number: number, Load: s.Text(p.Load), Outcome: p.Outcome, P50: build.FormatTime(p.ResponseTime.P50),
		P99:    build.FormatTime(p.ResponseTime.P99),
		Errors: build.FormatPercent(float64(p.ErrorRate)), Why: failedOf(p),
	}
	if p.Outcome == rv.ProbeInvalid {
		w.Why = p.Message
	}
	return w.String()
}

// Words is what a line of a probe shows, as text.
type Words struct {
	Number           int
	Load             string
	Outcome          rv.ProbeOutcome
	P50, P99, Errors string
	// Why is the reason of a probe that did not hold; it can be empty.
	Why string
}

// String returns a line such as
//
//	probe 3: 4000 requests per second held: p50 1.2ms, p99 8.4ms, errors 0%
func (w Words) String() string {
	out := fmt.Sprintf("probe %d: %s ", w.Number, w.Load)
	switch w.Outcome {
	case rv.ProbeInvalid:
		return out + "are probed again: " + w.Why
	case rv.ProbeHeld:
		out += "held"
	case rv.ProbeGeneratorBound:
		out += "were too many for the generator"
	default:
		out += "failed"
	}
	out += fmt.Sprintf(": p50 %s, p99 %s, errors %s", w.P50, w.P99, w.Errors)
	if w.Why != "" {
		out += "; " + w.Why
	}
	return out
}

// Reason returns in a few words why a probe did not hold, such as the names of the thresholds that failed; "": it held.
func Reason(p *rv.ProbeResult) string {
	if p.Outcome == rv.ProbeGeneratorBound {
		return generatorReason(p.Message)
	}
	var names []string
	for i := range p.Thresholds {
		if t := &p.Thresholds[i]; !t.Passed {
			names = append(names, t.Name)
		}
	}
	if p.Outcome == rv.ProbeFailed && len(names) > 0 {
		return strings.Join(names, ", ")
	}
	if end := strings.IndexAny(p.Message, ",;"); end >= 0 {
		return p.Message[:end]
	}
	return p.Message
}

// generatorReason returns why the generator was the bottleneck, from the message of the verdict.
func generatorReason(message string) string {
	switch {
	case strings.HasPrefix(message, verdict.HeldBack):
		return "operator's limit"
	case strings.HasPrefix(message, verdict.ConnectionsBound):
		return "too few connections"
	case strings.Contains(message, verdict.Throttled):
		return "generator throttled"
	}
	return "generator late"
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
