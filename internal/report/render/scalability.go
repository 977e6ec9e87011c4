package render

import (
	"fmt"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// scalabilityTable has what the fit of the Universal Scalability Law shows.
func scalabilityTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "scalability", Topic: topicRate, Caption: "Scalability (Universal Scalability Law)", Left: 2,
		Head: []string{"", ""}}
	s := r.Scalability
	if s == nil {
		return t
	}
	f := s.Fit
	if f == nil {
		t.add("fit", s.Message)
		return t
	}
	t.add("fit", fmt.Sprintf("%d points, error %s of the highest rate", len(s.Points), build.FormatPercent(f.Error)))
	t.add("one request in flight", build.FormatRate(f.RateOfOne)+" requests per second")
	t.add("contention", coefficient(f.Contention))
	t.add("coherency", coefficient(f.Coherency))
	t.add("result", s.Message)
	return t
}

// coefficient writes three digits: "2.77%", "0.0104%".
func coefficient(v float64) string { return strconv.FormatFloat(v*100, 'g', 3, 64) + "%" }

// curveSteps is the number of points of the curve.
const curveSteps = 100

// scalabilityPlot shows the measured rates over the concurrency, and the curve of the fit. It is nil without points.
func scalabilityPlot(s *runnerv1alpha1.Scalability) *plot {
	if s == nil || len(s.Points) == 0 {
		return nil
	}
	p := &plot{ID: "scalability", Title: "Rate by requests in flight", Unit: "successful responses per second",
		Along: "requests in flight", Desc: strings.ToUpper(s.Message[:1]) + s.Message[1:] + "."}
	var widest, top float64
	for _, at := range s.Points {
		widest, top = max(widest, at.Concurrency), max(top, at.Rate)
	}
	if f := s.Fit; f != nil && f.Knee != nil {
		widest, top = max(widest, min(1.2*f.Knee.Concurrency, 2*widest)), max(top, min(f.Knee.Rate, 2*top))
	}
	x, ticks := span(widest, 7)
	p.setX(x, ticks, short)
	y, ticks := linear(top, 5)
	p.setY(y, ticks, short)
	p.addPoints(s.Points)
	if s.Fit != nil {
		p.addCurve(s.Fit, widest)
	}
	return p
}

// addPoints draws a cross at each point.
func (p *plot) addPoints(points []runnerv1alpha1.ScalabilityPoint) {
	const arm = 3.5
	var d path
	for _, at := range points {
		x, y := p.x.at(at.Concurrency), p.y.at(at.Rate)
		d.to(x-arm, y)
		d.to(x+arm, y)
		d.gap()
		d.to(x, y-arm)
		d.to(x, y+arm)
		d.gap()
	}
	p.Series = append(p.Series, series{Name: "measured", Class: "c2", Path: d.String()})
}

// addCurve draws the curve, and the knee if it is within the plot.
func (p *plot) addCurve(f *runnerv1alpha1.ScalabilityFit, widest float64) {
	var d path
	for i := range curveSteps + 1 {
		n := widest * float64(i) / curveSteps
		d.to(p.x.at(n), p.y.at(f.At(n)))
	}
	p.Series = append(p.Series, series{Name: "fitted", Class: "c1", Path: d.String()})
	if k := f.Knee; k != nil && k.Concurrency <= widest {
		x := p.x.at(k.Concurrency)
		p.Changes = append(p.Changes, coordinate(x))
		p.note("change", "knee "+build.FormatRate(k.Concurrency), x, plotBottom-12)
	}
}
