package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	judge "github.com/h2surge/h2surge/internal/report/verdict"
)

// window keeps the lines of windowColumns short.
type window = runnerv1alpha1.Window

// windowColumn is a column of the table of windows, a curve of a plot, and a column of CSV.
type windowColumn struct {
	// field names the column of CSV, and name that of the page. Empty: it is not there.
	field, name string
	// class is that of the curve.
	class  string
	value  func(*window) any
	dashed bool
}

// windowColumns are in the order of CSV and of the page.
var windowColumns = []windowColumn{
	{field: "from", name: "from", value: func(w *window) any { return offsetCell(w.From) }},
	{field: "to", name: "to", value: func(w *window) any { return offsetCell(w.To) }},
	{name: "stage", value: func(w *window) any { return windowStage(w) }},
	{field: "stage", value: func(w *window) any { return w.Stage }},
	{field: "warmUp", value: func(w *window) any { return w.WarmUp }},
	{field: "suspended", value: func(w *window) any { return w.Suspended }},
	{field: "revision", value: func(w *window) any { return w.Revision }},
	{field: "asked", value: func(w *window) any { return rateCell(w.Asked) }},
	{name: "asked", class: "asked", value: windowAsked, dashed: true},
	{field: "achieved", name: "achieved", class: "c1", value: func(w *window) any { return rateCell(w.Achieved) }},
	{field: "sent", name: "sent", value: func(w *window) any { return w.Sent }},
	{field: "succeeded", name: "succeeded", value: func(w *window) any { return w.Succeeded }},
	{field: "failedChecks", name: "failed checks", class: "c2", value: func(w *window) any { return w.FailedChecks }},
	{field: "timedOut", name: "timed out", class: "c3", value: func(w *window) any { return w.TimedOut }},
	{field: "reset", name: "reset", class: "c4", value: func(w *window) any { return w.Reset }},
	{field: "connectionLost", name: "connection lost", class: "c5",
		value: func(w *window) any { return w.ConnectionLost }},
	{field: "dropped", name: "dropped", class: "c6", value: func(w *window) any { return w.Dropped }},
	{field: "inFlight", name: "in flight", class: "c1", value: func(w *window) any { return w.InFlight }},
	{field: "connects", value: func(w *window) any { return w.Connects }},
	{field: "responseTime.count", value: func(w *window) any { return w.ResponseTime.Count }},
	{field: "responseTime.p50", name: "p50", class: "o1",
		value: answered(func(w *window) int64 { return w.ResponseTime.P50 })},
	{field: "responseTime.p90", name: "p90", class: "o2",
		value: answered(func(w *window) int64 { return w.ResponseTime.P90 })},
	{field: "responseTime.p99", name: "p99", class: "o3",
		value: answered(func(w *window) int64 { return w.ResponseTime.P99 })},
	{field: "responseTime.max", name: "max", class: "max",
		value: answered(func(w *window) int64 { return w.ResponseTime.Max }), dashed: true},
	{field: "lagP99", name: "lag p99", class: "c1", value: answered(func(w *window) int64 { return w.LagP99 })},
	{field: "shards", name: "shards", class: "c1", value: func(w *window) any { return int64(w.Shards) }},
}

// answered returns a time that a window without a response does not have.
func answered(us func(*window) int64) func(*window) any {
	return func(w *window) any { return measured(w.ResponseTime.Count, us(w)) }
}

// windowAsked is not known in a closed loop.
func windowAsked(w *window) any {
	if w.Asked > 0 || w.Stage == "" || w.Suspended {
		return rateCell(w.Asked)
	}
	return nil
}

func windowStage(w *window) string {
	stage := w.Stage
	if w.WarmUp {
		stage += " (warm-up)"
	}
	if w.Suspended {
		stage += " (paused)"
	}
	return stage
}

// columnsOf returns columns of the page by their names.
func columnsOf(names ...string) (out []windowColumn) {
	for _, name := range names {
		i := slices.IndexFunc(windowColumns, func(c windowColumn) bool { return c.name == name })
		out = append(out, windowColumns[i])
	}
	return out
}

// The columns of the plots.
var (
	columnsRate     = columnsOf("asked", "achieved")
	columnsTimes    = columnsOf("max", "p99", "p90", "p50")
	columnsErrors   = columnsOf("failed checks", "timed out", "reset", "connection lost", "dropped")
	columnsInFlight = columnsOf("in flight")
	columnsLag      = columnsOf("lag p99")
	columnsShards   = columnsOf("shards")
)

// overTime begins a plot over the windows.
func overTime(r *runnerv1alpha1.Report, id, title string) *plot {
	over := r.Windows[len(r.Windows)-1].To
	p := &plot{ID: id, Title: title, Along: "time since the start", Over: over}
	s, ticks := span(float64(over)/1000, 7)
	p.setX(s, ticks, clock)
	p.addBands(r.Windows)
	p.addPauses(r.Windows)
	p.addChanges(r.Windows)
	return p
}

// addChanges draws where the revision changes.
func (p *plot) addChanges(windows []runnerv1alpha1.Window) {
	for i := range windows[1:] {
		if windows[i].Revision == windows[i+1].Revision {
			continue
		}
		x := p.x.at(float64(windows[i+1].From) / 1000)
		p.Changes = append(p.Changes, coordinate(x))
		p.note("change", "load changed", x, changeLine)
	}
}

// clock is a time on the horizontal axis.
func clock(seconds float64) string {
	if seconds < 60 {
		return strconv.FormatFloat(seconds, 'g', 4, 64) + " s"
	}
	out := time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
	if whole, ok := strings.CutSuffix(out, "m0s"); ok {
		return whole + "m"
	}
	return out
}

// addBands draws neighbouring windows of one stage.
func (p *plot) addBands(windows []runnerv1alpha1.Window) {
	for i := 0; i < len(windows); {
		k := i
		for k < len(windows) && windows[k].Stage == windows[i].Stage {
			k++
		}
		b := p.band(windows[i:k], windows[i].Stage, stageLine)
		b.Odd, b.WarmUp = len(p.Bands)%2 == 1, windows[i].WarmUp
		p.Bands, i = append(p.Bands, b), k
	}
}

// addPauses draws neighbouring windows in which nothing came due.
func (p *plot) addPauses(windows []runnerv1alpha1.Window) {
	for i := 0; i < len(windows); {
		k := i
		for k < len(windows) && windows[k].Suspended {
			k++
		}
		if k > i {
			p.Pauses = append(p.Pauses, p.band(windows[i:k], "paused", pauseLine))
		}
		i = k + 1
	}
}

// band returns the band of some windows, and writes its name if the band is wide enough.
func (p *plot) band(windows []runnerv1alpha1.Window, name string, line float64) band {
	from, to := p.x.at(float64(windows[0].From)/1000), p.x.at(float64(windows[len(windows)-1].To)/1000)
	if name != "" && width(name) <= to-from {
		p.note("stage", name, (from+to)/2, line)
	}
	return band{X: coordinate(from), Width: coordinate(to - from)}
}

// line is a curve through the middles of the windows; what is asked goes in steps, from the
// beginning of a window to its end.
func (p *plot) line(c *windowColumn, windows []runnerv1alpha1.Window) {
	var d path
	for i := range windows {
		w := &windows[i]
		v := c.value(w)
		if v == nil {
			d.gap()
			continue
		}
		from, to, y := p.x.at(float64(w.From)/1000), p.x.at(float64(w.To)/1000), p.y.at(drawnAt(number(v)))
		if c.class == "asked" {
			d.to(from, y)
			d.to(to, y)
			continue
		}
		d.to((from+to)/2, y)
	}
	p.Series = append(p.Series, series{Name: c.name, Class: c.class, Path: d.String(), Dashed: c.dashed,
		Column: c.name})
}

func (p *plot) lines(columns []windowColumn, windows []runnerv1alpha1.Window) *plot {
	for i := range columns {
		p.line(&columns[i], windows)
	}
	return p
}

func most(columns []windowColumn, windows []runnerv1alpha1.Window) (least, most float64) {
	for i := range columns {
		for k := range windows {
			cell := columns[i].value(&windows[k])
			if cell == nil {
				continue
			}
			v := drawnAt(number(cell))
			most = max(most, v)
			if v > 0 && (least == 0 || v < least) {
				least = v
			}
		}
	}
	return least, most
}

func timesPlot(r *runnerv1alpha1.Report) *plot {
	p := overTime(r, "times", "Response time, percentiles")
	p.Unit = "logarithmic"
	least, top := most(columnsTimes, r.Windows)
	p.IsNone = top == 0
	p.setTimes(least, top)
	p.Desc = fmt.Sprintf("Median, 90th and 99th percentile and maximum of each window, without warm-up. Over the whole test: p50 %s, p90 %s, p99 %s, maximum %s.",
		micro(r.ResponseTime.P50), micro(r.ResponseTime.P90), micro(r.ResponseTime.P99), micro(r.ResponseTime.Max))
	for _, t := range timeLimits(r, runnerv1alpha1.MetricResponseTime) {
		p.addLimit(t.us, t.name, "p"+percent(t.q)+" "+micro(int64(t.us)))
	}
	return p.lines(columnsTimes, r.Windows)
}

func (p *plot) setTimes(least, most float64) {
	s, ticks := logarithmic(least, most)
	p.setY(s, ticks, func(v float64) string { return micro(int64(v)) })
}

// errorsPlot stacks the kinds, as a second has them: windows may differ in length.
func errorsPlot(r *runnerv1alpha1.Report) *plot {
	p := overTime(r, "errors", "Errors over time")
	p.Unit = "failed requests per second"
	perSecond := func(w *window, v float64) float64 {
		return v / max(0.001, float64(w.To-w.From)/1000)
	}
	var top float64
	for i := range r.Windows {
		var sum float64
		for k := range columnsErrors {
			sum += number(columnsErrors[k].value(&r.Windows[i]))
		}
		top = max(top, perSecond(&r.Windows[i], sum))
	}
	p.IsNone = top == 0
	s, ticks := linear(top, 5)
	p.setY(s, ticks, short)
	p.Desc = "Failed requests by kind, stacked. " + errorSentence(r)
	floor := make([]float64, len(r.Windows))
	for k := range columnsErrors {
		var d path
		for i := range r.Windows {
			w := &r.Windows[i]
			v := perSecond(w, number(columnsErrors[k].value(w)))
			if v <= 0 {
				continue
			}
			from, to := p.x.at(float64(w.From)/1000), p.x.at(float64(w.To)/1000)
			low, high := p.y.at(floor[i]), p.y.at(floor[i]+v)
			d.bar(from, high, max(0.5, (to-from)*0.85), low-high)
			floor[i] += v
		}
		if d.b.Len() > 0 {
			p.Series = append(p.Series, series{Name: columnsErrors[k].name, Class: columnsErrors[k].class,
				Path: d.String(), Bars: true, Column: columnsErrors[k].name})
		}
	}
	return p
}

func inFlightPlot(r *runnerv1alpha1.Report) *plot {
	p := overTime(r, "inflight", "Requests in flight")
	p.Unit = "requests, at the end of a window"
	_, top := most(columnsInFlight, r.Windows)
	p.IsNone = top == 0
	s, ticks := linear(top, 5)
	p.setY(s, ticks, short)
	p.Desc = fmt.Sprintf("Requests that were sent and had no outcome yet, warm-up included. Maximum: %.0f.", top)
	return p.lines(columnsInFlight, r.Windows)
}

func lagPlot(r *runnerv1alpha1.Report) *plot {
	p := overTime(r, "lag", "Lag of the generator, p99")
	p.Unit = "logarithmic"
	least, top := most(columnsLag, r.Windows)
	p.IsNone = top == 0
	p.setTimes(max(1, least), max(top, 10*float64(judge.MaxLag)))
	p.Desc = fmt.Sprintf("How late the generator picked requests up. Worst shard over the whole test: %s. Above %s, the generator may be the bottleneck.",
		micro(r.Generator.LagP99Microseconds), micro(judge.MaxLag))
	p.addLimit(float64(judge.MaxLag), "limit", micro(judge.MaxLag))
	return p.lines(columnsLag, r.Windows)
}

func shardsPlot(r *runnerv1alpha1.Report) *plot {
	p := overTime(r, "alive", "Shards that sent figures")
	p.Unit = "shards, in a window"
	s, ticks := linear(float64(r.Generator.Shards), min(5, r.Generator.Shards))
	p.setY(s, ticks, short)
	p.Desc = fmt.Sprintf("%d shards, %s.", r.Generator.Shards, shardChanges(&r.Generator))
	return p.lines(columnsShards, r.Windows)
}

// maxSeriesColumns bounds the columns of series of observations. With more of them, the table has none.
const maxSeriesColumns = 16

// windowTable is the values behind the plots.
func windowTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "windows", Caption: "Windows", Left: 3, Rows: make([]tableRow, len(r.Windows))}
	columns := windowColumns
	if more := seriesColumns(r); len(more) <= maxSeriesColumns {
		columns = append(slices.Clip(columns), more...)
	}
	for _, c := range columns {
		if c.name == "" {
			continue
		}
		t.Head = append(t.Head, c.name)
		for i := range r.Windows {
			w, row := &r.Windows[i], &t.Rows[i]
			row.Cells, row.From, row.To, row.Timed = append(row.Cells, c.value(w)), w.From, w.To, true
		}
	}
	return t
}

// offset formats an offset in milliseconds: "12.98 s".
func offset(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 2, 64) + " s" }
