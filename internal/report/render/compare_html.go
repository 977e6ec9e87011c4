package render

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/compare"
)

//go:embed html/compare.html.tmpl
var compareTemplate string

// comparePage is what the template shows.
type comparePage struct {
	*compare.Comparison
	Style        template.CSS
	Script       template.JS
	Policy       string
	Legend       string
	Plots        []*plot
	Runs, Values *table
}

// Title is the page's.
func (p *comparePage) Title() string { return "h2surge: " + p.A.Source + " and " + p.B.Source }

// Mood is the outcome's colour, and Sign the outcome for those who do not see colours.
func (p *comparePage) Mood() string { return mood(p.Outcome) }

func (p *comparePage) Sign() string { return signs[p.Mood()] }

// CompareHTML writes a comparison as one page with the curves of both reports. As with HTML, the page loads nothing.
func CompareHTML(w io.Writer, c *compare.Comparison, a, b *runnerv1alpha1.Report) error {
	plots, err := comparePlots(a, b)
	var out bytes.Buffer
	if err == nil {
		err = parsed(compareTemplate).Execute(&out, &comparePage{
			Comparison: c, Style: template.CSS(pageStyle), Script: template.JS(pageScript), Policy: policy(pageScript),
			Legend: legend(c), Plots: plots, Runs: runsTable(c), Values: compareTable(c),
		})
	}
	return finish(w, &out, "comparison", err)
}

func comparePlots(a, b *runnerv1alpha1.Report) ([]*plot, error) {
	var curves []timed
	for _, of := range []struct {
		name, class string
		*runnerv1alpha1.Report
	}{{"A", "c1", a}, {"B", "c2", b}} {
		all, err := distributions(of.Report)
		if err != nil {
			return nil, fmt.Errorf("report %s: %w", of.name, err)
		}
		curves = append(curves, timed{name: of.name, class: of.class, times: all[0].times, h: all[0].h})
	}
	var out []*plot
	if p := drawDistributions(curves); p != nil {
		p.Title = "Response time, percentile distribution"
		p.Desc = fmt.Sprintf("Response times of the slowest requests. p99 is %s in A and %s in B.",
			micro(a.ResponseTime.P99), micro(b.ResponseTime.P99))
		out = append(out, p)
	}
	if len(a.Windows) == 0 || len(b.Windows) == 0 {
		return out, nil
	}
	return append(out, compareTimes(a.Windows, b.Windows), compareRates(a, b)), nil
}

// overBoth begins a plot over the windows of both reports.
func overBoth(a, b []runnerv1alpha1.Window, id, title string) *plot {
	p := &plot{ID: id, Title: title, Along: "time since the start"}
	s, ticks := span(float64(max(a[len(a)-1].To, b[len(b)-1].To))/1000, 7)
	p.setX(s, ticks, clock)
	return p
}

func compareTimes(a, b []runnerv1alpha1.Window) *plot {
	p := overBoth(a, b, "times", "Response time")
	p.Unit = "logarithmic"
	p.Desc = "99th percentile and median of each window, without warm-up."
	p99, p50 := columnsTimes[1], columnsTimes[3]
	least, top := most([]windowColumn{p99, p50}, slices.Concat(a, b))
	p.setTimes(least, top)
	p.pair(p99, false, a, b)
	p.pair(p50, true, a, b)
	return p
}

func compareRates(a, b *runnerv1alpha1.Report) *plot {
	p := overBoth(a.Windows, b.Windows, "rate", "Rate")
	p.Desc = "Rate sent, by window, warm-up included."
	achieved := columnsRate[1]
	ofA, ofB := whileLoaded(a.Windows), whileLoaded(b.Windows)
	both := slices.Concat(ofA, ofB)
	_, top := most([]windowColumn{achieved}, both)
	p.setRates(top, slices.Concat(a.Stages, b.Stages), both)
	p.pair(achieved, false, ofA, ofB)
	return p
}

// pair draws a column of the windows of both reports.
func (p *plot) pair(c windowColumn, dashed bool, a, b []runnerv1alpha1.Window) {
	name := c.name
	c.dashed, c.name, c.class = dashed, "A "+name, "c1"
	p.line(&c, a)
	c.name, c.class = "B "+name, "c2"
	p.line(&c, b)
}
