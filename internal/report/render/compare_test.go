package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/compare"
	"github.com/h2surge/h2surge/test/golden"
)

// measuredReport is a run of 2,000 requests whose times are a multiple of those of another run.
func measuredReport(name string, factor int64) *runnerv1alpha1.Report {
	const n = 2000
	var h histogram.H
	for i := range int64(n) {
		h.Record(factor * (1000 + i*i/100))
	}
	r := &runnerv1alpha1.Report{
		Name: name, Version: "v0.1.0", StartTime: "2026-01-02T02:04:05Z", EndTime: "2026-01-02T02:04:07Z",
		Requests: runnerv1alpha1.Requests{Outcomes: runnerv1alpha1.Outcomes{Sent: n, Done: n, Succeeded: n}}, StatusCodes: map[string]int64{"200": n},
		Rate:         runnerv1alpha1.RateResult{Asked: 1000, Achieved: 1000, WindowSeconds: 2},
		Stages:       []runnerv1alpha1.StageResult{{Name: "hold", Asked: 1000, Achieved: 1000, Sent: n}},
		Steps:        []runnerv1alpha1.StepResult{{Chain: "app", Step: "create", Outcomes: runnerv1alpha1.Outcomes{Sent: n, Done: n, Succeeded: n}, ResponseTime: h.Times()}},
		ResponseTime: h.Times(), ServiceTime: h.Times(),
		Generator:  runnerv1alpha1.GeneratorResult{Shards: 1, Workers: 1},
		Verdict:    runnerv1alpha1.Verdict{Outcome: runnerv1alpha1.OutcomePassed, Reason: "Passed"},
		Histograms: &runnerv1alpha1.ReportHistograms{ResponseTime: h.Encode(), ServiceTime: h.Encode()},
	}
	for i := range int64(2) {
		r.Windows = append(r.Windows, runnerv1alpha1.Window{
			From: i * 1000, To: i*1000 + 1000, Stage: "hold", Asked: 1000, Achieved: 1000, Sent: 1000, Succeeded: 1000,
			ResponseTime: runnerv1alpha1.WindowTimes{Count: 1000, P50: factor * 1000, P90: factor * 2000, P99: factor * 3000, Max: factor * 4000},
		})
	}
	return r
}

func comparison(t *testing.T, a, b *runnerv1alpha1.Report) *compare.Comparison {
	t.Helper()
	return compare.Reports(compare.Input{Source: "a.json", Report: a}, compare.Input{Source: "b.json", Report: b}, compare.Options{Tolerance: 0.05, ErrorTolerance: 0.001})
}

func TestCompareForms(t *testing.T) {
	a, b := measuredReport("core/a", 1), measuredReport("core/b<|>", 2)
	c := comparison(t, a, b)
	var text, markdown, page bytes.Buffer
	for name, err := range map[string]error{"text": CompareText(&text, c), "Markdown": CompareMarkdown(&markdown, c), "HTML": CompareHTML(&page, c, a, b)} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	golden.Compare(t, "compare.txt", text.Bytes())
	golden.Compare(t, "compare.md", markdown.Bytes())
	golden.Compare(t, "compare.html", []byte(structure(page.String())))
	for line := range strings.Lines(text.String()) {
		if len(line) > columns+1 {
			t.Errorf("a line of %d columns: %s", len(line)-1, line)
		}
	}
	curves := map[string]int{}
	for _, e := range elements(t, page.String()) {
		for _, a := range e.attrs {
			if a.Key == "data-series" {
				curves[a.Val]++
			}
		}
	}
	want := map[string]int{"A": 1, "B": 1, "A p99": 1, "B p99": 1, "A p50": 1, "B p50": 1, "A achieved": 1, "B achieved": 1}
	if diff := cmp.Diff(want, curves); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	if strings.Contains(page.String(), "<|>") || !strings.Contains(page.String(), "core/b&lt;|&gt;") {
		t.Error("the name is not escaped")
	}
}

// TestCompareJSON: the document has the fields that the docs name.
func TestCompareJSON(t *testing.T) {
	raw, err := json.MarshalIndent(comparison(t, measuredReport("core/a", 1), measuredReport("core/b", 2)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "compare.json", append(raw, '\n'))
}

// TestCompareBare: reports without windows and histograms have a page without curves.
func TestCompareBare(t *testing.T) {
	a, b := measuredReport("core/a", 1), measuredReport("core/b", 1)
	for _, r := range []*runnerv1alpha1.Report{a, b} {
		r.Windows, r.Histograms = nil, nil
	}
	var page bytes.Buffer
	if err := CompareHTML(&page, comparison(t, a, b), a, b); err != nil || strings.Contains(page.String(), `data-series="`) {
		t.Errorf("%v, %d bytes", err, page.Len())
	}
	b.Histograms = &runnerv1alpha1.ReportHistograms{ResponseTime: runnerv1alpha1.Histogram{Count: 1, Counts: []byte("!")}}
	if err := CompareHTML(&page, comparison(t, a, b), a, b); err == nil || !strings.Contains(err.Error(), "report B: histogram of response time") {
		t.Errorf("a histogram that cannot be read: %v", err)
	}
	if err := CompareText(fullDisk{}, comparison(t, a, b)); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a full disk: %v", err)
	}
}
