package build

import (
	"cmp"
	"math"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// observations merges what the runners read of the observations of the plan. One runner reads at a time, and another
// one continues if it is lost.
func observations(plan *runnerv1alpha1.Plan,
	snapshots []runnerv1alpha1.Snapshot) []runnerv1alpha1.ObservationResult {
	if len(plan.Observe) == 0 {
		return nil
	}
	stages := stageSpans(plan, snapshots)
	out := make([]runnerv1alpha1.ObservationResult, len(plan.Observe))
	for i := range out {
		o := &out[i]
		o.Name, o.Unit = plan.Observe[i].Name, plan.Observe[i].Unit
		for k := range snapshots {
			if all := snapshots[k].Observations; len(all) > 0 {
				addSamples(o, &all[i])
			}
		}
		slices.SortFunc(o.Series, compareSeries)
		for k := range o.Series {
			setSeriesFigures(&o.Series[k], stages)
		}
		slices.SortStableFunc(o.Gaps,
			func(a, b runnerv1alpha1.ObservationGap) int { return cmp.Compare(a.From, b.From) })
	}
	return out
}

// compareSeries sorts by label, with the sum of the others as the last one.
func compareSeries(a, b runnerv1alpha1.SeriesResult) int {
	return cmp.Or(cmp.Compare(rankOf(a.Label), rankOf(b.Label)), cmp.Compare(a.Label, b.Label))
}

func rankOf(label string) int { return one(label == runnerv1alpha1.SeriesOthers) }

// addSamples adds what one runner read. If two runners read at the same time, the first one counts.
func addSamples(o *runnerv1alpha1.ObservationResult, from *runnerv1alpha1.ObservationSamples) {
	o.Others = max(o.Others, from.Others)
	o.Gaps = append(o.Gaps, from.Gaps...)
	o.Gaps = o.Gaps[:min(len(o.Gaps), runnerv1alpha1.MaxGaps)]
	for i := range from.Series {
		s := &from.Series[i]
		k := slices.IndexFunc(o.Series, func(r runnerv1alpha1.SeriesResult) bool { return r.Label == s.Label })
		if k < 0 {
			if len(o.Series) > runnerv1alpha1.MaxSeries {
				continue
			}
			k, o.Series = len(o.Series), append(o.Series, runnerv1alpha1.SeriesResult{Label: s.Label})
		}
		points := slices.Concat(o.Series[k].Points, s.Points)
		slices.SortStableFunc(points, func(a, b runnerv1alpha1.Point) int { return cmp.Compare(a.At, b.At) })
		o.Series[k].Points = slices.CompactFunc(points, func(a, b runnerv1alpha1.Point) bool { return a.At == b.At })
	}
}

// stageSpan is a stage on the axis of points. A point belongs to it if it is after from, and at most at to.
type stageSpan struct {
	from, to int64
	measured bool
}

// stageSpans returns the times of all stages of the plan, from their first begin to their last end on any runner. The
// times of a stage that no runner has begun contain nothing.
func stageSpans(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot) []stageSpan {
	out := make([]stageSpan, len(plan.Rates))
	for i := range out {
		r, begun := &plan.Rates[i], false
		out[i].measured = !r.WarmUp && (r.ClosedLoop || r.Count > 0 || r.RampFrom != nil)
		for k := range snapshots {
			s := &snapshots[k]
			if !hasBegun(plan, s, i) {
				continue
			}
			from, to := time.Duration(s.Stages[i].Begun).Milliseconds(), int64(math.MaxInt64)
			if ended := s.Stages[i].Ended; ended > 0 {
				to = time.Duration(ended).Milliseconds()
			} else if s.EndedAt > 0 {
				to = time.Duration(s.EndedAt - s.StartAt).Milliseconds()
			}
			if !begun || from < out[i].from {
				out[i].from = from
			}
			out[i].to, begun = max(out[i].to, to), true
		}
	}
	return out
}

// setSeriesFigures sets the figures of the measured stages together, and of each stage. The rate of a stage does not
// include the time in which the load was suspended, so its figures do not, either.
func setSeriesFigures(s *runnerv1alpha1.SeriesResult, stages []stageSpan) {
	of := func(in func(at int64) bool) runnerv1alpha1.SeriesFigures {
		var points []runnerv1alpha1.Point
		for _, p := range s.Points {
			if !p.Suspended && in(p.At) {
				points = append(points, p)
			}
		}
		return SeriesFigures(points)
	}
	has := func(span *stageSpan, at int64) bool { return span.from < at && at <= span.to }
	s.Stages = make([]runnerv1alpha1.SeriesFigures, len(stages))
	for i := range stages {
		s.Stages[i] = of(func(at int64) bool { return has(&stages[i], at) })
	}
	s.Figures = of(func(at int64) bool {
		return slices.ContainsFunc(stages, func(span stageSpan) bool { return span.measured && has(&span, at) })
	})
}

// SeriesFigures sums up points. The 95th percentile is the smallest value that 95% of the samples do not exceed; a
// point of several samples counts as their mean.
func SeriesFigures(points []runnerv1alpha1.Point) (out runnerv1alpha1.SeriesFigures) {
	if len(points) == 0 {
		return out
	}
	out.Max = points[0].Max
	for _, p := range points {
		out.Samples += p.Samples
		out.Mean += (p.Mean - out.Mean) * (float64(p.Samples) / float64(out.Samples))
		out.Max = max(out.Max, p.Max)
	}
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b runnerv1alpha1.Point) int { return cmp.Compare(a.Mean, b.Mean) })
	rank, n := int64(math.Ceil(0.95*float64(out.Samples))), int64(0)
	for _, p := range sorted {
		if n += p.Samples; n >= rank {
			out.P95 = p.Mean
			break
		}
	}
	return out
}
