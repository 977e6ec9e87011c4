package render

import (
	"cmp"
	"fmt"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// observedCell is a value of an observation in its unit.
type observedCell struct {
	value float64
	unit  string
}

// maxObservedRows bounds the rows of text and Markdown.
const maxObservedRows = 48

// observationTable has the figures of each series over the measured stages, and of each of them if there are several.
func observationTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "observations", Topic: topicObserved, Caption: "Observations", Left: 2, Group: true, Zeros: true,
		Most: maxObservedRows, Head: []string{"observation", "of", "mean", "p95", "max", "samples"}}
	stages := measuredStages(r)
	for i := range r.Observations {
		o := &r.Observations[i]
		name := o.Name + " (" + o.Unit + ")"
		if len(o.Series) == 0 {
			t.add(name, "no samples", nil, nil, nil, int64(0))
		}
		for k := range o.Series {
			s := &o.Series[k]
			t.add(observedCells(name, cmp.Or(seriesName(o, s), "measured stages"), &s.Figures, o.Unit)...)
			if len(stages) < 2 {
				continue
			}
			for _, n := range stages {
				if n < len(s.Stages) {
					of := strings.TrimPrefix(seriesName(o, s)+", stage ", ", ") + r.Stages[n].Name
					t.add(observedCells(name, of, &s.Stages[n], o.Unit)...)
				}
			}
		}
	}
	return t
}

// measuredStages returns the indices of the stages that are not warm-up.
func measuredStages(r *runnerv1alpha1.Report) (out []int) {
	for i := range r.Stages {
		if !r.Stages[i].WarmUp {
			out = append(out, i)
		}
	}
	return out
}

func observedCells(name, of string, f *runnerv1alpha1.SeriesFigures, unit string) []any {
	out := []any{name, of, nil, nil, nil, f.Samples}
	if f.Samples > 0 {
		out[2], out[3], out[4] = observedCell{f.Mean, unit}, observedCell{f.P95, unit}, observedCell{f.Max, unit}
	}
	return out
}

// seriesName is the label of a series; empty: it is the only one.
func seriesName(o *runnerv1alpha1.ObservationResult, s *runnerv1alpha1.SeriesResult) string {
	if s.Label == runnerv1alpha1.SeriesOthers && o.Others > 0 {
		return fmt.Sprintf("%s (the sum of %d)", s.Label, o.Others)
	}
	return s.Label
}

// gapTable has the times without samples, and why.
func gapTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "gaps", Topic: topicObserved, Caption: "Gaps of observations", Left: 2, Most: maxObservedRows,
		Zeros: true, Head: []string{"observation", "cause", "from", "to", "reads"}}
	for i := range r.Observations {
		for _, g := range r.Observations[i].Gaps {
			t.add(r.Observations[i].Name, g.Cause, offsetCell(g.From), offsetCell(g.To), g.Reads)
		}
	}
	return t
}

// seriesColumns are columns of windows with the mean of the samples of each series.
func seriesColumns(r *runnerv1alpha1.Report) (out []windowColumn) {
	for i := range r.Observations {
		o := &r.Observations[i]
		for k := range o.Series {
			out = append(out, windowColumn{field: "observe." + columnOf(o, &o.Series[k]), name: columnOf(o, &o.Series[k]),
				class: fmt.Sprintf("c%d", k%6+1), dashed: k >= 6, value: meanIn(o.Series[k].Points, o.Unit)})
		}
	}
	return out
}

// columnOf is "cpu", or "cpu pod=a".
func columnOf(o *runnerv1alpha1.ObservationResult, s *runnerv1alpha1.SeriesResult) string {
	return strings.TrimSuffix(o.Name+" "+s.Label, " ")
}

// meanIn returns the mean of the samples in a window, or nil.
func meanIn(points []runnerv1alpha1.Point, unit string) func(*window) any {
	return func(w *window) any {
		var sum float64
		var n int64
		for i := range points {
			if p := &points[i]; p.At >= w.From && p.At < w.To {
				sum, n = sum+p.Mean*float64(max(1, p.Samples)), n+max(1, p.Samples)
			}
		}
		if n == 0 {
			return nil
		}
		return observedCell{sum / float64(n), unit}
	}
}

// observationPlots shows each observation on the axis of the windows.
func observationPlots(r *runnerv1alpha1.Report) (out []*plot) {
	columns := seriesColumns(r)
	for i := range r.Observations {
		o := &r.Observations[i]
		p := overTime(r, fmt.Sprintf("observation-%d", i+1), o.Name)
		p.Unit, p.IsNone = observedUnits[o.Unit], len(o.Series) == 0
		p.Desc = observationWords(o)
		var top float64
		for k := range o.Series {
			for _, at := range o.Series[k].Points {
				top = max(top, at.Mean)
			}
		}
		s, ticks := linear(top, 5)
		p.setY(s, ticks, func(v float64) string { return build.FormatValue(v, o.Unit) })
		for _, g := range o.Gaps {
			p.addGap(g)
		}
		for k := range o.Series {
			p.addSamples(&columns[0], &o.Series[k], o.Gaps)
			columns = columns[1:]
		}
		out = append(out, p)
	}
	return out
}

// observedUnits are units as an axis has them.
var observedUnits = map[string]string{
	"Cores": "cores", "Bytes": "bytes", "BytesPerSecond": "bytes per second", "PerSecond": "per second",
	"Seconds": "time", "Percent": "percent",
}

func observationWords(o *runnerv1alpha1.ObservationResult) string {
	out := "No samples."
	if len(o.Series) > 0 {
		f := &o.Series[0].Figures
		value := func(v float64) string { return build.FormatValue(v, o.Unit) }
		out = fmt.Sprintf("Over the measured stages: mean %s, p95 %s, maximum %s.", value(f.Mean), value(f.P95), value(f.Max))
		if f.Samples == 0 {
			out = "No samples in the measured stages."
		} else if n := len(o.Series); n > 1 {
			out = fmt.Sprintf("%d series. ", n) + strings.Replace(out, "Over", o.Series[0].Label+" over", 1)
		}
	}
	if n := len(o.Gaps); n > 0 {
		out += fmt.Sprintf(" %s without samples, the first one because: %s.", build.Plural(n, "time"), o.Gaps[0].Cause)
	}
	return out
}

// leastGap is the smallest width of a gap, so that it is seen.
const leastGap = 2

// addGap marks a time without samples.
func (p *plot) addGap(g runnerv1alpha1.ObservationGap) {
	from, to := p.x.at(float64(g.From)/1000), p.x.at(float64(g.To)/1000)
	if width("gap") <= to-from {
		p.note("stage", "gap", (from+to)/2, pauseLine)
	}
	p.Pauses = append(p.Pauses, band{X: coordinate(from), Width: coordinate(max(leastGap, to-from))})
}

// addSamples draws a series. Its line has a gap where no sample could be read.
func (p *plot) addSamples(c *windowColumn, s *runnerv1alpha1.SeriesResult, gaps []runnerv1alpha1.ObservationGap) {
	var d path
	next := 0
	for _, at := range s.Points {
		for ; next < len(gaps) && gaps[next].From < at.At; next++ {
			d.gap()
		}
		d.to(p.x.at(float64(at.At)/1000), p.y.at(at.Mean))
	}
	p.Series = append(p.Series, series{Name: c.name, Class: c.class, Path: d.String(), Dashed: c.dashed, Column: c.name})
}
