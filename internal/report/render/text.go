package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// columns is the width of Text.
const columns = 80

// Text writes the whole report for people.
func Text(w io.Writer, r *runnerv1alpha1.Report) error {
	var b bytes.Buffer
	head(&b, r)
	if v := &r.Verdict; v.Outcome != "" {
		section(&b, "Verdict: "+string(v.Outcome))
		wrap(&b, "  ", sentence(fmt.Sprintf("%s: %s", v.Reason, v.Message)))
		if w := lagWarning(r); w != "" {
			wrap(&b, "  ", "warning: "+w)
		}
	}
	if all := notes(r); len(all) > 0 {
		section(&b, "Notes")
		for _, n := range all {
			wrap(&b, "  ", ascii(n))
		}
	}
	for _, t := range tables(r, timesOf(r)) {
		textTable(&b, t)
	}
	return finish(w, &b, "report as text", nil)
}

func head(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	title := []string{sentence(r.Name)}
	if r.Version != "" {
		title = append(title, "h2surge "+r.Version)
	}
	if r.PlanHash != "" {
		title = append(title, "plan "+r.PlanHash[:min(12, len(r.PlanHash))])
	}
	wrap(b, "", strings.Join(title, ", "))
	if r.StartTime != "" {
		wrap(b, "", "from "+r.StartTime+" to "+r.EndTime)
	}
}

// ascii is a text of a table, with the sign of the micro as u and other characters escaped.
func ascii(s string) string { return sentence(strings.ReplaceAll(s, " \u00b5", "u")) }

// grid is a table of a text: rows of cells, the first left columns with text and the others with figures.
type grid struct {
	rows   [][]string
	left   int
	widths []int
	// below marks rows whose text does not fit beside the figures.
	below map[int]bool
}

// textTable writes the columns and rows of t that text has.
func textTable(b *bytes.Buffer, t *table) {
	section(b, t.Caption)
	t, more := t.narrow()
	if t.List {
		textList(b, t)
	} else {
		textGrid(b, t)
	}
	if more > 0 {
		line(b, "  and %d more", more)
	}
}

// textList writes the first cell of each row on lines of its own, and the others below.
func textList(b *bytes.Buffer, t *table) {
	for _, row := range t.Rows {
		cells := t.texts(row, compact)
		wrap(b, "  ", ascii(cells[0]))
		for _, cell := range cells[1:] {
			wrap(b, "      ", ascii(cell))
		}
	}
}

func textGrid(b *bytes.Buffer, t *table) {
	indent, groups := "  ", []string(nil)
	if t.Group {
		for _, row := range t.Rows {
			groups = append(groups, ascii(t.texts(row, compact)[0]))
		}
		indent, t = "    ", t.columns(func(i int) bool { return i > 0 })
	}
	g := gridOf(t, columns-len(indent))
	if strings.Join(t.Head[:t.Left], "") != "" || len(t.Head) > 2 {
		g.write(b, indent, 0)
	}
	for i := range t.Rows {
		if t.Group && (i == 0 || groups[i] != groups[i-1]) {
			wrap(b, "  ", groups[i])
		}
		g.write(b, indent, i+1)
	}
}

// gridOf makes each column as wide as its widest cell. If that is too wide, the rows with the longest texts get lines
// of their own.
func gridOf(t *table, width int) *grid {
	g := &grid{rows: [][]string{t.Head}, left: t.Left, below: map[int]bool{}}
	for _, row := range t.Rows {
		cells := t.texts(row, compact)
		for i := range cells {
			cells[i] = ascii(cells[i])
		}
		g.rows = append(g.rows, cells)
	}
	for g.measure() > width {
		row := g.longest()
		if row < 0 {
			break
		}
		g.below[row] = true
	}
	return g
}

// measure sets the widths, and returns their sum with two blanks between columns.
func (g *grid) measure() int {
	g.widths = make([]int, len(g.rows[0]))
	for k, row := range g.rows {
		for i, c := range row {
			if i >= g.left || !g.below[k] {
				g.widths[i] = max(g.widths[i], len(c))
			}
		}
	}
	sum := 2 * (len(g.widths) - 1)
	for _, n := range g.widths {
		sum += n
	}
	return sum
}

// longest returns the row whose text makes the widest column, except the head and the rows that are below already;
// -1: no row.
func (g *grid) longest() int {
	at, most := -1, 0
	for k, row := range g.rows {
		for i := range g.left {
			if n := len(row[i]); k > 0 && !g.below[k] && n > most {
				at, most = k, n
			}
		}
	}
	return at
}

func (g *grid) write(b *bytes.Buffer, indent string, k int) {
	row, out := g.rows[k], indent
	if g.below[k] {
		wrap(b, indent, strings.Join(slices.DeleteFunc(slices.Clone(row[:g.left]),
			func(c string) bool { return c == "" }), ": "))
		if g.left == len(row) {
			return
		}
	}
	for i, c := range row {
		switch {
		case i >= g.left:
			out += fmt.Sprintf("%*s  ", g.widths[i], c)
		case g.below[k]:
			out += fmt.Sprintf("%*s  ", g.widths[i], "")
		default:
			out += fmt.Sprintf("%-*s  ", g.widths[i], c)
		}
	}
	line(b, "%s", out)
}
