package render

import (
	"strings"
)

// The size of every plot and the margins of its axes, in units of the SVG.
const (
	plotWidth, plotHeight = 572, 296
	plotLeft, plotRight   = 74, 560
	plotTop, plotBottom   = 24, 246
	// above the curves over time are the names of the stages and the changes of the load.
	aboveCurves = 36
)

// plot is what the template draws as one SVG with its legend, or as one line if IsNone.
type plot struct {
	ID, Title, Desc string
	// IsNone is true if all values are zero.
	IsNone bool
	// Unit stands above the vertical axis, Along below the horizontal one.
	Unit, Along    string
	XTicks, YTicks []tick
	Bands          []band
	Pauses         []band
	Series         []series
	Limits         []limit
	Changes        []string // where the load changed
	Notes          []note
	// Over is where time ends, in milliseconds, when the plot is one over the windows; the page's script
	// reads the values from their table.
	Over int64

	x, y  scale
	taken []box // by notes
}

// tick is a place on an axis.
type tick struct{ At, Label string }

// band is a rate stage, or a pause, behind the curves.
type band struct {
	X, Width    string
	Odd, WarmUp bool
}

// series is one curve, area or set of bars. Class gives its colour, Column is the one in the table of
// the windows that has its values.
type series struct {
	Name, Class, Path string
	Bars, Dashed      bool
	Column            string
}

// limit is a line at a value that should not be exceeded.
type limit struct{ X1, X2, Y string }

// place are the positions that the template needs; they are the same for every plot.
type place struct{ Width, Height, Left, Right, Top, Bottom, High int }

func (p *plot) Place() place {
	return place{plotWidth, plotHeight, plotLeft, plotRight, plotTop, plotBottom, plotBottom - plotTop}
}

func (p *plot) setX(s scale, ticks []float64, label func(float64) string) {
	s.from, s.to = plotLeft, plotRight
	p.x, p.XTicks = s, labelled(s, ticks, label)
}

func (p *plot) setY(s scale, ticks []float64, label func(float64) string) {
	s.from, s.to = plotBottom, plotTop
	if p.Over > 0 {
		s.to += aboveCurves
	}
	p.y, p.YTicks = s, labelled(s, ticks, label)
}

func labelled(s scale, ticks []float64, label func(float64) string) []tick {
	out := make([]tick, len(ticks))
	for i, v := range ticks {
		out[i] = tick{coordinate(s.at(v)), label(v)}
	}
	return out
}

// path is the data of an SVG path.
type path struct {
	b    strings.Builder
	open bool
}

func (p *path) to(x, y float64) {
	if p.open {
		p.b.WriteByte('L')
	} else {
		p.b.WriteByte('M')
	}
	p.b.WriteString(coordinate(x) + " " + coordinate(y))
	if !p.open {
		p.b.WriteString("h0") // a point of its own is seen
	}
	p.open = true
}

// gap ends the line: the next point begins another one.
func (p *path) gap() { p.open = false }

func (p *path) bar(x, y, width, height float64) {
	p.b.WriteString("M" + coordinate(x) + " " + coordinate(y) + "h" + coordinate(width) + "v" + coordinate(height) +
		"h" + coordinate(-width) + "z")
}

func (p *path) String() string { return p.b.String() }
