package export

import (
	"fmt"
	"math"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// maxRatio is how often the least rate of a stage may be in the greatest one on a linear axis: beyond it, its line looks like zero.
const maxRatio = 20

func ratePlot(r *runnerv1alpha1.Report) *plot {
	p := overTime(r, "rate", "Rate")
	p.Desc = fmt.Sprintf("Rate asked for and rate sent, by window. Over the measured stages: %s of %s requests per second.",
		result.FormatRate(r.Rate.Achieved), asked(r.Rate.Asked, r.Rate.AskedChains))
	windows := withoutShortEnd(r.Windows)
	_, top := most(columnsRate, windows)
	p.setRates(top, r.Stages, windows)
	return p.lines(columnsRate, windows)
}

// withoutShortEnd returns the windows of a line of rates: all but a last one that is shorter than half of the one before. The
// load ended in it, so that its rate is mostly that of no load.
func withoutShortEnd(windows []runnerv1alpha1.Window) []runnerv1alpha1.Window {
	n := len(windows) - 1
	if n > 0 && 2*(windows[n].To-windows[n].From) < windows[n-1].To-windows[n-1].From {
		return windows[:n]
	}
	return windows
}

// setRates sets the vertical axis of rates. It is logarithmic if the rates of stages differ much. Its lower end is then below
// the least of them, and stands for zero, too.
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

// ratesOf returns the least and the greatest rate of the stages that follow one another and that windows show, without pauses.
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
