package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/harness"
)

// table is a table of the page. The column verdict follows those of head.
type table struct {
	title, intro string
	head         []string
	rows         []row
}

// row is a measurement with one or more lines.
type row struct {
	name    string // for -run
	measure func(*lab) ([]line, error)
}

// line is a line of a table.
type line struct {
	cells []string
	// missed says which marks are not reached, each with its number.
	missed []string
}

// measure returns the lines of a row, or one that shows why there are no figures.
func (b *lab) measure(r row) []line {
	lines, err := r.measure(b)
	if err != nil {
		return []line{{cells: []string{r.name}, missed: []string{"failed: " + err.Error()}}}
	}
	return lines
}

// cells returns the cells of a line, with its verdict.
func (t *table) cells(l line) []string {
	out := make([]string, len(t.head), len(t.head)+1)
	for i := range out {
		out[i] = harness.None
	}
	copy(out, l.cells)
	return append(out, l.verdict())
}

func (l *line) verdict() string {
	if len(l.missed) == 0 {
		return "ok"
	}
	return strings.Join(l.missed, "; ")
}

// atMost notes a figure above its mark.
func (l *line) atMost(what string, got, mark float64, unit string) {
	if got > mark {
		l.missed = append(l.missed, fmt.Sprintf("not reached: %s %s%s, mark %s%s", what, figure(got), unit, figure(mark),
			unit))
	}
}

// near notes a figure that differs from the expected one by more than the tolerance.
func (l *line) near(what string, got, want, tolerance float64, unit string) {
	if math.Abs(got-want) > tolerance+1e-9*want { // decimal fractions are not exact
		l.missed = append(l.missed, fmt.Sprintf("not reached: %s %s%s, expected %s%s within %s%s", what, figure(got), unit,
			figure(want), unit, figure(tolerance), unit))
	}
}

// generatorBound notes that a report does not describe the target. The other figures of the line are not judged then.
func (l *line) generatorBound(runs []run) bool {
	if !slices.ContainsFunc(runs, func(r run) bool { return r.Verdict.Outcome == rv.OutcomeInconclusive }) {
		return false
	}
	l.missed = append(l.missed, "the generator was the bottleneck")
	return true
}

// figure also writes negative numbers.
func figure(v float64) string {
	if v < 0 {
		return "-" + harness.Figure(-v)
	}
	return harness.Figure(v)
}

func milliseconds(us float64) string { return figure(us / 1e3) }
