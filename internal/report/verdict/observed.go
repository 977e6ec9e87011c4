package verdict

import (
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// failed returns whether there was something to compare with the limit, and it did not pass.
func (c *comparison) failed() bool {
	return !c.result.Passed && c.result.NotCompared() == "" && !c.result.NotObserved()
}

// seriesFigures returns the figures of a series in the period of a threshold.
type seriesFigures func(*runnerv1alpha1.SeriesResult) runnerv1alpha1.SeriesFigures

// observed compares an observation with the limit: the mean of the series for which it is worst, or the rate of
// succeeded requests for each unit of the sum of the means.
func (c *comparison) observed(f *build.Figures, all []runnerv1alpha1.ObservationResult, of seriesFigures) error {
	limit, err := parseNumber(c.limit)
	if err != nil {
		return err
	}
	c.result.Observed = runnerv1alpha1.ObservedNone
	i := slices.IndexFunc(all,
		func(o runnerv1alpha1.ObservationResult) bool { return o.Name == c.result.Observation })
	if i < 0 {
		return nil
	}
	var means []float64
	sum := 0.0
	for k := range all[i].Series {
		if s := of(&all[i].Series[k]); s.Samples > 0 {
			means, sum = append(means, s.Mean), sum+s.Mean
		}
	}
	switch {
	case len(means) == 0, c.result.PerUnit && (sum <= 0 || f.Seconds <= 0):
	case c.result.PerUnit:
		c.number(float64(f.Requests.Succeeded)/f.Seconds/sum, limit, formatNumber)
	case c.isMinimum:
		c.number(slices.Min(means), limit, formatNumber)
	default:
		c.number(slices.Max(means), limit, formatNumber)
	}
	return nil
}

// figuresOf returns the figures of a series over the run, or over the stage of a threshold.
func figuresOf(plan *runnerv1alpha1.Plan, t *runnerv1alpha1.Threshold) seriesFigures {
	if t.Of.Stage == "" {
		return func(s *runnerv1alpha1.SeriesResult) runnerv1alpha1.SeriesFigures { return s.Figures }
	}
	i := slices.IndexFunc(plan.Rates, func(r runnerv1alpha1.Rate) bool { return r.Name == t.Of.Stage })
	return func(s *runnerv1alpha1.SeriesResult) (f runnerv1alpha1.SeriesFigures) {
		if i >= 0 && i < len(s.Stages) {
			f = s.Stages[i]
		}
		return f
	}
}

// inWindow returns the figures of a series in the present window of a threshold.
func (l *Live) inWindow(t *runnerv1alpha1.Threshold) seriesFigures {
	to := l.watch.Elapsed()
	from := to - t.Window
	return func(s *runnerv1alpha1.SeriesResult) runnerv1alpha1.SeriesFigures {
		return build.SeriesFigures(slices.DeleteFunc(slices.Clone(s.Points), func(p runnerv1alpha1.Point) bool {
			return p.Suspended || p.At <= from.Milliseconds() || p.At > to.Milliseconds()
		}))
	}
}

// notObserved is the verdict of a run without samples of an observation that a threshold is on.
func notObserved(in *input) *runnerv1alpha1.Verdict {
	var names []string
	for i := range in.thresholds {
		t := &in.thresholds[i].result
		if !t.NotObserved() {
			continue
		}
		name := t.String()
		for k := range in.report.Observations {
			if o := &in.report.Observations[k]; o.Name == t.Observation && len(o.Gaps) > 0 {
				name += " (" + o.Gaps[0].Cause + ")"
			}
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	return verdict(runnerv1alpha1.OutcomeInconclusive, ReasonNotObserved, "%s", strings.Join(names, "; "))
}
