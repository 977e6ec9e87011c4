package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/h2surge/h2surge/internal/report/compare"
)

// compareWords are the results of figures.
var compareWords = map[compare.Result]string{compare.Within: "within", compare.Better: "better",
	compare.Worse: "WORSE", compare.NotJudged: "-"}

// legend explains compareWords.
func legend(c *compare.Comparison) string {
	return fmt.Sprintf("within: B differs from A by at most %s, and an error rate by at most %s. -: the figure is for information, or too few requests are slower than the percentile.",
		c.Tolerance, c.ErrorTolerance)
}

// CompareText writes a comparison for people.
func CompareText(w io.Writer, c *compare.Comparison) error {
	var b bytes.Buffer
	behind(&b, "A  ", runTitle(&c.A))
	behind(&b, "B  ", runTitle(&c.B))
	section(&b, "Comparison: "+string(c.Outcome))
	wrap(&b, "  ", sentence(c.Message))
	textTable(&b, compareTable(c))
	b.WriteByte('\n')
	wrap(&b, "  ", legend(c))
	if len(c.Remarks) > 0 {
		section(&b, "Remarks")
	}
	for _, r := range c.Remarks {
		wrap(&b, "  ", sentence(r)+".")
	}
	return finish(w, &b, "comparison", nil)
}

// runTitle is "a.json: core/pcf, 2026-01-02T02:04:05Z, h2surge v0.1.0, Passed".
func runTitle(r *compare.Run) string {
	title := []string{r.Name}
	for _, s := range []string{r.StartTime, r.Version, string(r.Outcome)} {
		if s != "" {
			title = append(title, s)
		}
	}
	return sentence(r.Source + ": " + strings.Join(title, ", "))
}

// CompareMarkdown writes a comparison for the page of a pipeline.
func CompareMarkdown(w io.Writer, c *compare.Comparison) error {
	var b bytes.Buffer
	b.WriteString("## Comparison: " + markdownText(string(c.Outcome)) + "\n\n")
	paragraph(&b, c.Message)
	for _, t := range []*table{runsTable(c), compareTable(c)} {
		markdownTable(&b, t)
	}
	paragraph(&b, legend(c))
	for _, r := range c.Remarks {
		paragraph(&b, r+".")
	}
	return finish(w, &b, "comparison", nil)
}

func runsTable(c *compare.Comparison) *table {
	t := &table{ID: "runs", Caption: "Runs", Left: 6,
		Head: []string{"", "report", "test", "start", "version", "verdict"}}
	for _, run := range []struct {
		name string
		*compare.Run
	}{{"A", &c.A}, {"B", &c.B}} {
		t.Rows = append(t.Rows, tableRow{Cells: []any{run.name, run.Source, run.Name, run.StartTime, run.Version,
			string(run.Outcome)}})
	}
	return t
}

func compareTable(c *compare.Comparison) *table {
	t := &table{ID: "figures", Caption: "Rates, errors and times", Left: 2, Group: true,
		Head: []string{"of", "figure", "A", "B", "change", "result"}}
	for i := range c.Figures {
		f := &c.Figures[i]
		t.Rows = append(t.Rows, tableRow{Bad: f.Result == compare.Worse, Cells: []any{
			cmp.Or(f.Of(), "whole run"), f.Name, f.Format(f.A), f.Format(f.B), f.FormatChange(), compareWords[f.Result],
		}})
	}
	return t
}
