package render

import (
	"fmt"
	"math"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// maxRatio is how often the least rate of a stage may be in the greatest one on a linear axis: beyond it, its line
// looks like zero.
const maxRatio = 20

func ratePlot(r *runnerv1alpha1.Report) *plot {
	p := overTime(r, "rate", "Rate")
	p.Desc = fmt.Sprintf("Rate asked for and rate sent, by window. Over the measured stages: %s of %s requests per second.",
		build.FormatRate(r.Rate.Achieved), long(asked(r.Rate.Asked, r.Rate.AskedChains)))
	windows := whileLoaded(r.Windows)
	_, top := most(columnsRate, windows)
	p.setRates(top, r.Stages, windows)
	return p.lines(columnsRate, windows)
}

// whileLoaded returns the windows of a line of rates. The line ends with the load: windows of the drain in which
// nothing was sent are left out, and a window in which the load ended has the rates of its part before. A last window
// that is shorter than half of the one before is left out, because its rate is one of few requests.
func whileLoaded(windows []runnerv1alpha1.Window) []runnerv1alpha1.Window {
	n := len(windows)
	for n > 1 && windows[n-1].Stage == "" && windows[n-1].Sent == 0 && !windows[n-1].Suspended {
		n--
	}
	windows = slices.Clone(windows[:n])
	last := &windows[n-1]
	if last.LoadEnd > last.From {
		of := float64(last.To-last.From) / float64(last.LoadEnd-last.From)
		last.Asked, last.Achieved, last.To = last.Asked*of, last.Achieved*of, last.LoadEnd
	}
	if n > 1 && 2*(last.To-last.From) < windows[n-2].To-windows[n-2].From {
		return windows[:n-1]
	}
	return windows
}

// setRates sets the vertical axis of rates. It is logarithmic if the rates of stages differ much. Its lower end is
// then below the least of them, and stands for zero, too.
func (p *plot) setRates(top float64, stages []runnerv1alpha1.StageResult, windows []runnerv1alpha1.Window) {
	p.Unit = "requests per second"
	least, greatest := ratesOf(stages, windows)
	if greatest <= least*maxRatio {
		s, ticks := linear(top, 5)
		p.setY(s, ticks, short)
		return
	}
	p.Unit += ", logarithmic"
	s, ticks := logarithmic(least/2, top)
	p.setY(s, ticks, func(v float64) string {
		if v == s.min {
			return "\u2264 " + short(v)
		}
		return short(v)
	})
}

// ratesOf returns the least and the greatest rate of the stages that follow one another and that windows show,
// without pauses.
func ratesOf(stages []runnerv1alpha1.StageResult, windows []runnerv1alpha1.Window) (least, greatest float64) {
	least = math.Inf(1)
	for i := range stages {
		s := &stages[i]
		isShown := slices.ContainsFunc(windows, func(w runnerv1alpha1.Window) bool { return w.Stage == s.Name })
		if rate := max(s.Asked, s.Achieved); rate > 0 && s.Chain == "" && isShown {
			least, greatest = min(least, rate), max(greatest, rate)
		}
	}
	return least, greatest
}
