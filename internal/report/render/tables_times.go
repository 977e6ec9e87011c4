package render

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// percentile reads a figure of Times.
type percentile func(*runnerv1alpha1.Times) int64

func p50(t *runnerv1alpha1.Times) int64     { return t.P50 }
func p90(t *runnerv1alpha1.Times) int64     { return t.P90 }
func p95(t *runnerv1alpha1.Times) int64     { return t.P95 }
func p99(t *runnerv1alpha1.Times) int64     { return t.P99 }
func p999(t *runnerv1alpha1.Times) int64    { return t.P999 }
func longest(t *runnerv1alpha1.Times) int64 { return t.Max }

// measuredTimes are cells. They are not known if nothing was measured.
func measuredTimes(t *runnerv1alpha1.Times, all ...percentile) (out []any) {
	for _, of := range all {
		out = append(out, measured(t.Count, of(t)))
	}
	return out
}

func measured(count, us int64) any {
	if count == 0 {
		return nil
	}
	return timeCell(us)
}

// mean of the measured times is not known if no request got a response.
func mean(t *runnerv1alpha1.Times) any { return measured(t.Count-t.Unanswered, t.Mean) }

// timeTable has the times that were measured. Times that phaseTable has for the only target, and times of successful
// requests if all were successful, are not repeated.
func timeTable(r *runnerv1alpha1.Report, all []timed) *table {
	phased := len(r.Targets) == 1 && r.Targets[0].Blocked.Count > 0
	t := &table{ID: "quantiles", Topic: topicTimes, Caption: "Times", Left: 1, Wide: []string{"count", "p99.99"},
		Head: []string{"", "count", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"}}
	for _, d := range all {
		repeated := d.times == &r.SuccessfulResponseTime && *d.times == r.ResponseTime ||
			phased && (d.times == &r.TimeToFirstByte || d.times == &r.Reconnecting || d.times == &r.Blocked)
		if d.times.Max <= 0 || repeated {
			continue
		}
		var further any
		if d.h != nil {
			further = timeCell(d.h.Quantile(0.9999))
		}
		n := d.times.Count
		row := append([]any{d.name, n, measured(n, d.times.Min), mean(d.times)},
			measuredTimes(d.times, p50, p90, p95, p99, p999)...)
		t.add(append(row, further, measured(n, d.times.Max))...)
	}
	return t
}

// phaseTable has the phases of the connections and requests to each target.
func phaseTable(r *runnerv1alpha1.Report) *table {
	t := &table{
		ID: "phases", Topic: topicTimes, Caption: "Where the time goes: phases of connections and requests", Left: 2,
		Group: true, Wide: []string{"p99.9"},
		Head: []string{"target", "phase", "count", "mean", "p50", "p90", "p99", "p99.9", "max"},
	}
	for i := range r.Targets {
		for _, p := range append(connectionPhases(&r.Targets[i]), requestPhases(&r.Targets[i])...) {
			if p.times.Max > 0 {
				t.add(append([]any{printable(r.Targets[i].Name), p.name, p.times.Count, timeCell(p.times.Mean)},
					measuredTimes(p.times, p50, p90, p99, p999, longest)...)...)
			}
		}
	}
	return t
}

// slowestTable is empty if no request has a traceparent.
func slowestTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "slowest", Topic: topicTimes, Caption: "Slowest requests with a trace", Left: 2,
		Head: []string{"step", "trace", "after", "time", "status"}, Detail: true}
	for i := range r.Slowest {
		s := &r.Slowest[i]
		t.add(s.Chain+"/"+s.Step, traceText(&s.Trace), offsetCell(s.At), timeCell(s.ResponseTime),
			decimal(int64(s.Status)))
	}
	return t
}

// traceText is "4bf9..., sampled", or "" for a request without a traceparent.
func traceText(t *runnerv1alpha1.Trace) string {
	if t.TraceSampled {
		return t.TraceID + ", sampled"
	}
	return t.TraceID
}
