package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Markdown writes a summary of the report for the page of a pipeline: the verdict, the notes, and the tables without
// details. Tables are those of GitHub Flavored Markdown.
func Markdown(w io.Writer, r *runnerv1alpha1.Report) error {
	var b bytes.Buffer
	v := &r.Verdict
	b.WriteString("## " + markdownText(cmp.Or(string(v.Outcome), "No verdict")+": "+r.Name) + "\n\n")
	paragraph(&b, v.Message)
	if warning := lagWarning(r); warning != "" {
		paragraph(&b, "Warning: "+warning+".")
	}
	for _, n := range notes(r) {
		paragraph(&b, n)
	}
	for _, t := range tables(r, timesOf(r)) {
		if !t.Detail {
			markdownTable(&b, t)
		}
	}
	return finish(w, &b, "report as Markdown", nil)
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

// markdownTable writes the columns and rows of t that Markdown has.
func markdownTable(b *bytes.Buffer, t *table) {
	t, more := t.narrow()
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
		line(markdownCells(t.Long(row)))
	}
	b.WriteByte('\n')
	if more > 0 {
		paragraph(b, fmt.Sprintf("and %d more", more))
	}
}

func markdownCells(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = markdownText(c)
	}
	return out
}
