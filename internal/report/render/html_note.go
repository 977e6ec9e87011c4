package render

import (
	"math"
	"slices"
	"unicode/utf8"
)

const (
	// letter and lineHeight are the size of a letter of a note on a phone, about, where letters are largest.
	letter, lineHeight = 8.2, 17
	// maxName is the longest name of a limit, in letters.
	maxName = 24
)

// Lines of notes.
const (
	stageLine  = plotTop + 12
	changeLine = plotTop + 29
	pauseLine  = plotBottom - 12
)

// note is a text inside a plot. X is its middle, Y its base line.
type note struct{ X, Y, Class, Text string }

// box is the place of a note.
type box struct{ left, right, base float64 }

func (b box) isOn(o box) bool {
	return b.left < o.right && o.left < b.right && math.Abs(b.base-o.base) < lineHeight
}

// width of a text, about.
func width(text string) float64 { return float64(utf8.RuneCountInString(text)) * letter }

// note writes a text around a horizontal position, but inside the plot. It returns false if the text would be on top
// of another note.
func (p *plot) note(class, text string, middle, base float64) bool {
	half := width(text) / 2
	middle = min(max(middle, plotLeft+half+4), plotRight-half-4)
	at := box{middle - half, middle + half, base}
	if slices.ContainsFunc(p.taken, at.isOn) {
		return false
	}
	p.taken = append(p.taken, at)
	p.Notes = append(p.Notes, note{coordinate(middle), coordinate(base), class, text})
	return true
}

// addLimit draws a line over the whole width, if it is within the plot, and writes what it is above or below the
// line, if there is room. A long name is cut.
func (p *plot) addLimit(v float64, name, figure string) {
	if v < p.y.min || v > p.y.max {
		return
	}
	y := p.y.at(v)
	p.Limits = append(p.Limits, limit{coordinate(plotLeft), coordinate(plotRight), coordinate(y)})
	if letters := []rune(name); len(letters) > maxName {
		name = string(letters[:maxName-1]) + "\u2026"
	}
	for _, base := range []float64{y - 4, y + 14} {
		if base < plotTop+lineHeight || base > plotBottom {
			continue
		}
		if text := name + ": " + figure; p.note("limit", text, plotLeft, base) ||
			p.note("limit", text, plotRight, base) {
			return
		}
	}
}
