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

// observed compares an observation with the limit: the mean of the series for which it is worst. figures returns those
// of the period of the threshold.
func (c *comparison) observed(all []runnerv1alpha1.ObservationResult,
	figures func(*runnerv1alpha1.SeriesResult) runnerv1alpha1.SeriesFigures) error {
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
	for k := range all[i].Series {
		f := figures(&all[i].Series[k])
		switch {
		case f.Samples == 0:
		case c.result.Observed == runnerv1alpha1.ObservedNone, c.isMinimum && f.Mean < c.value, !c.isMinimum &&
			f.Mean > c.value:
			c.number(f.Mean, limit, formatNumber)
		}
	}
	return nil
}

// figuresOf returns the figures of a series over the run, or over the stage of a threshold.
func figuresOf(plan *runnerv1alpha1.Plan,
	t *runnerv1alpha1.Threshold) func(*runnerv1alpha1.SeriesResult) runnerv1alpha1.SeriesFigures {
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
func (l *Live) inWindow(t *runnerv1alpha1.Threshold) func(*runnerv1alpha1.SeriesResult) runnerv1alpha1.SeriesFigures {
	to := l.watch.Elapsed()
	from := to - t.Window
	return func(s *runnerv1alpha1.SeriesResult) runnerv1alpha1.SeriesFigures {
		return build.SeriesFigures(slices.DeleteFunc(slices.Clone(s.Points), func(p runnerv1alpha1.Point) bool {
			return p.At <= from.Milliseconds() || p.At > to.Milliseconds()
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
