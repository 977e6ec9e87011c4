package runner

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/runner/measure"
)

// selectionCounters returns the figures of the selections of the plan: those that the workers recorded, and those that
// follow from other figures. If times is false, the selections of stages have no distributions.
func (f *figures) selectionCounters(listeners []rv.ListenerCounters, times bool) (thresholds,
	stages []rv.SelectionCounters) {
	var out []rv.SelectionCounters
	for i := range f.selections {
		sel := &f.selections[i]
		if sel.Time == rv.MetricNotificationTime {
			out = append(out, f.notifications(sel, listeners))
			continue
		}
		from := &f.total.Selections[i]
		if sel.Derived() {
			from = f.derive(sel)
		}
		c := rv.SelectionCounters{SelectionCounts: from.SelectionCounts}
		if times || i < f.stagesFrom {
			c.Time = from.Time.Encode()
		}
		out = append(out, c)
	}
	return out[:f.stagesFrom:f.stagesFrom], out[f.stagesFrom:]
}

// notifications returns the figures of a selection of notifications.
func (f *figures) notifications(sel *rv.Selection, listeners []rv.ListenerCounters) (out rv.SelectionCounters) {
	var h histogram.H
	for i := range listeners {
		if sel.Listener != "" && sel.Listener != f.plan.Listeners[i].Name {
			continue
		}
		c := &listeners[i]
		out.Add(&rv.SelectionCounts{
			Sent: c.Measured.Awaited, Done: c.Measured.InTime, Succeeded: c.Measured.InTime - c.Measured.FailedChecks,
			TimedOut: c.Measured.Missing, Received: c.Received, Late: c.Late, Duplicate: c.Duplicate, Unexpected: c.Unexpected,
		}, 1)
		h.Merge(&f.total.Listeners[i].Time)
	}
	out.Time = h.Encode()
	return out
}

// derive returns the figures of a selection from those of steps and targets.
func (f *figures) derive(sel *rv.Selection) *measure.Selection {
	out := &measure.Selection{}
	for i := range f.total.Steps {
		from := &f.total.Steps[i]
		h := timeOfStep(from, sel.Time)
		if h == nil || !f.program.Selects(&sel.Selector, i) {
			continue
		}
		out.Time.Merge(h)
		out.Add(&rv.SelectionCounts{
			Sent: from.Sent, Done: from.Done, Succeeded: from.Succeeded, TimedOut: from.TimedOut, Reset: from.Reset,
			ConnectionLost: from.ConnectionLost,
		}, 1)
	}
	for i := range f.total.Targets {
		if k := sel.Time.OfTargets(); k >= 0 && (sel.Target == "" || sel.Target == f.plan.Targets[i].Name) {
			out.Time.Merge(f.total.Targets[i].Histograms()[k])
		}
	}
	if sel.Time == rv.MetricLag {
		out.Time.Merge(&f.total.Lag)
	}
	return out
}

// timeOfStep returns a distribution of a step; nil: steps do not have it.
func timeOfStep(s *measure.Step, m rv.Metric) *histogram.H {
	switch m {
	case rv.MetricResponseTime:
		return &s.ResponseTime
	case rv.MetricServiceTime:
		return &s.ServiceTime
	case rv.MetricTimeToFirstByte:
		return &s.TimeToFirstByte
	}
	return nil
}
