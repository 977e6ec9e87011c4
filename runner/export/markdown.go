package export

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Markdown writes a summary of the report for the page of a pipeline: the verdict, the thresholds, key figures, times, steps and failures.
// Tables are those of GitHub Flavored Markdown.
func Markdown(w io.Writer, r *runnerv1alpha1.Report) error {
	var b bytes.Buffer
	v := &r.Verdict
	b.WriteString("## " + markdownText(cmp.Or(string(v.Outcome), "No verdict")+": "+r.Name) + "\n\n")
	paragraph(&b, v.Message)
	if warning := lagWarning(r); warning != "" {
		paragraph(&b, "Warning: "+warning+".")
	}
	for _, t := range []*table{thresholdTable(r), probeTable(r), figureTable(r), timeTable(r), phaseTable(r), stepSummary(r), operationTable(r), notificationTable(r), failureTable(r)} {
		markdownTable(&b, t)
	}
	for _, n := range notes(r) {
		paragraph(&b, n)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the report as Markdown: %w", err)
	}
	return nil
}

func paragraph(b *bytes.Buffer, text string) {
	if text != "" {
		b.WriteString(markdownText(text) + "\n\n")
	}
}

// markdownText escapes what Markdown or HTML would format. Names may come from the target.
func markdownText(s string) string {
	var b strings.Builder
	for _, c := range strings.Join(strings.Fields(s), " ") {
		if !unicode.IsPrint(c) {
			c = unicode.ReplacementChar
		}
		if strings.ContainsRune("\\`*_[]<|~&@$#", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// markdownTable writes nothing for nil and for a table without rows.
func markdownTable(b *bytes.Buffer, t *table) {
	if t == nil || len(t.Rows) == 0 {
		return
	}
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "---"
		if i >= t.Left {
			rule[i] = "---:"
		}
	}
	fmt.Fprintf(b, "### %s\n\n", markdownText(t.Caption))
	line(markdownCells(t.Head))
	line(rule)
	for _, row := range t.Rows {
		line(markdownCells(row.Cells))
	}
	b.WriteByte('\n')
}

func markdownCells(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = markdownText(c)
	}
	return out
}

func thresholdTable(r *runnerv1alpha1.Report) *table {
	t := &table{Caption: "Thresholds", Left: 2, Head: []string{"threshold", "of", "observed", "limit", "result"}}
	for i := range r.Verdict.Thresholds {
		h := &r.Verdict.Thresholds[i]
		passed := "passed"
		if !h.Passed {
			passed = "FAILED"
		}
		t.Rows = append(t.Rows, tableRow{Cells: []string{h.Name, h.Figure(), h.Observed, h.Limit, passed}})
	}
	return t
}

func figureTable(r *runnerv1alpha1.Report) *table {
	t := &table{Caption: "Key figures", Left: 1, Head: []string{"", "value", ""}}
	for _, f := range keyFigures(r, 0) {
		t.Rows = append(t.Rows, tableRow{Cells: []string{f.Name, f.Value, f.Note}})
	}
	return t
}

// timeTable has no row for a time that was not measured.
func timeTable(r *runnerv1alpha1.Report) *table {
	t := &table{Caption: "Times", Left: 1, Head: []string{"", "p50", "p90", "p95", "p99", "p99.9", "max"}}
	for _, of := range timesOf(r) {
		if of.times.Count == 0 {
			continue
		}
		row := []string{of.name}
		for _, us := range []int64{of.times.P50, of.times.P90, of.times.P95, of.times.P99, of.times.P999, of.times.Max} {
			row = append(row, measured(of.times.Count, us))
		}
		t.Rows = append(t.Rows, tableRow{Cells: row})
	}
	return t
}

func stepSummary(r *runnerv1alpha1.Report) *table {
	t := &table{Caption: "Steps (response time)", Left: 1, Head: []string{"step", "sent", "errors", "p50", "p99", "p99.9", "max"}}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Phase != runnerv1alpha1.PhaseLoad || s.Listener != "" {
			continue // it counts nothing
		}
		row := []string{s.Chain + "/" + s.Step, grouped(s.Sent), errorRate(float64(s.ErrorRate), s.Sent)}
		for _, us := range []int64{s.ResponseTime.P50, s.ResponseTime.P99, s.ResponseTime.P999, s.ResponseTime.Max} {
			row = append(row, measured(s.ResponseTime.Count, us))
		}
		t.Rows = append(t.Rows, tableRow{Cells: row})
	}
	return t
}
