package verdict

import (
	"fmt"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// shortestWindow is the length below which a window of the report is not judged, in milliseconds: the last one of a
// run can have a few.
const shortestWindow = 500

// findRamps sets where the thresholds of a plan first failed while a rate rose.
func findRamps(plan *runnerv1alpha1.Plan, report *runnerv1alpha1.Report, seen map[string]Observation,
	thresholds []comparison) (err error) {
	for i := range thresholds {
		t := &plan.Thresholds[i]
		for k := range plan.Rates {
			r := &plan.Rates[k]
			if thresholds[i].result.Ramp != nil || !rises(r) || t.Of.Stage != "" && t.Of.Stage != r.Name {
				continue
			}
			if thresholds[i].result.Ramp, err = onRamp(windowsOf(report, r.Name), t, seen[t.Name]); err != nil {
				return fmt.Errorf("threshold %s in stage %s: %w", t.Name, r.Name, err)
			}
		}
	}
	return nil
}

// rises returns whether a measured stage has a rate in requests per second that rises.
func rises(r *runnerv1alpha1.Rate) bool {
	return !r.WarmUp && !r.ClosedLoop && !r.ChainsPerSecond && r.RampFrom != nil && *r.RampFrom < r.Count
}

// windowsOf returns the windows of a stage whose rate rises. It leaves out the first one and the last one if the
// stage lasted for a part of them only: their rate is not that of the stage. If the stage ended in a window, the
// average rate of the window is lower than before.
func windowsOf(report *runnerv1alpha1.Report, stage string) []runnerv1alpha1.Window {
	all := report.Windows
	from := 0
	for from < len(all) && all[from].Stage != stage {
		from++
	}
	to := from
	for to < len(all) && all[to].Stage == stage {
		to++
	}
	if from > 0 && from < to {
		from++
	}
	if to-from > 1 && (to < len(all) || all[to-1].Asked < all[to-2].Asked) {
		to--
	}
	return all[from:to]
}

// onRamp returns where a threshold first failed in the windows of a stage. Nil: it failed in none, or the windows do
// not have its figure. A threshold on windows of its own was judged while the test ran.
func onRamp(windows []runnerv1alpha1.Window, t *runnerv1alpha1.Threshold,
	seen Observation) (*runnerv1alpha1.RampBreak, error) {
	switch {
	case t.Max == "":
		return nil, nil
	case t.Window > 0:
		return seenOn(windows, seen), nil
	case !judgedByWindow(t):
		return nil, nil
	}
	var first *runnerv1alpha1.RampBreak
	failed, judged := 0, 0
	for i := range windows {
		w := &windows[i]
		if w.Suspended || w.Asked == 0 || w.To-w.From < shortestWindow {
			continue
		}
		c, err := judgeWindow(w, t)
		if err != nil {
			return nil, err
		}
		if c.result.Observed == runnerv1alpha1.ObservedNone {
			continue
		}
		if judged++; c.result.Passed {
			continue
		}
		if failed++; first == nil {
			first = breakAt(w)
			first.Observed = c.result.Observed
		}
	}
	if first != nil {
		first.Failed, first.Windows = failed, judged
	}
	return first, nil
}

func breakAt(w *runnerv1alpha1.Window) *runnerv1alpha1.RampBreak {
	return &runnerv1alpha1.RampBreak{Stage: w.Stage, Asked: w.Asked, From: w.From, To: w.To}
}

// seenOn returns the window in which an observation failed first; nil: in none of these, or it passed.
func seenOn(windows []runnerv1alpha1.Window, seen Observation) *runnerv1alpha1.RampBreak {
	for i := range windows {
		if w, at := &windows[i], seen.After.Milliseconds(); !seen.Passed && at > w.From && at <= w.To {
			return breakAt(w)
		}
	}
	return nil
}

// judgedByWindow returns whether windows of the report have the figure of a threshold.
func judgedByWindow(t *runnerv1alpha1.Threshold) bool {
	if t.Of != (runnerv1alpha1.Selector{Stage: t.Of.Stage}) {
		return false
	}
	switch t.Metric {
	case runnerv1alpha1.MetricResponseTime, runnerv1alpha1.MetricErrorRate:
		return true
	case runnerv1alpha1.MetricFailed, runnerv1alpha1.MetricFailedChecks, runnerv1alpha1.MetricTimedOut,
		runnerv1alpha1.MetricReset,
		runnerv1alpha1.MetricConnectionLost, runnerv1alpha1.MetricDropped:
		return strings.HasSuffix(t.Max, "%") || strings.HasSuffix(t.Max, "/s")
	}
	return false
}

// judgeWindow compares a threshold with a window. Nothing was observed if the window has too few requests for a
// percentile: the 99th percentile of 20 requests is the longest time of them.
func judgeWindow(w *runnerv1alpha1.Window, t *runnerv1alpha1.Threshold) (comparison, error) {
	c, err := begin(t)
	if err != nil {
		return c, err
	}
	f := build.FiguresOfWindow(w)
	if t.Metric.IsTime() {
		q, err := runnerv1alpha1.ParsePercentile(t.Percentile)
		if err != nil {
			return c, err
		}
		if q < 1 && float64(f.All())*(1-q) < 1-1e-9 {
			c.result.Observed = runnerv1alpha1.ObservedNone
			return c, nil
		}
	}
	return c, c.compare(t, &f, nil, nil)
}
