package render

import (
	"bytes"
	"strings"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestProbesOfASearch: each form of the report has a row for each probe, and no rows for their stages.
func TestProbesOfASearch(t *testing.T) {
	r := &runnerv1alpha1.Report{
		Name:   "ns/find",
		Stages: []runnerv1alpha1.StageResult{{Name: "warm", WarmUp: true}, {Name: "settle-1", Probe: 1}, {Name: "probe-1", Probe: 1}},
		Search: &runnerv1alpha1.SearchResult{Outcome: runnerv1alpha1.SearchFound, Highest: 1000, Lowest: 1020, Probes: []runnerv1alpha1.ProbeResult{
			{Load: 1000, Outcome: runnerv1alpha1.ProbeHeld, Achieved: 999.5, Sent: 9995, Succeeded: 9995, ResponseTime: runnerv1alpha1.Times{Count: 9995, P50: 1100, P99: 8400}},
			{Load: 1020, Outcome: runnerv1alpha1.ProbeFailed, Achieved: 1001, Sent: 10010, Succeeded: 9000, Dropped: 190, ErrorRate: 0.1, Thresholds: []runnerv1alpha1.ThresholdResult{{Name: "fast"}}, ResponseTime: runnerv1alpha1.Times{Count: 9000, P50: 11000, P99: 84000}},
		}},
	}
	var text, markdown, page bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		text.String():     {"  probe  asked  outcome  reason  achieved    p50    p99  dropped  errors\n", "  2      1020   Failed   fast        1001   11ms   84ms      190     10%\n"},
		markdown.String(): {"Probes of the search, in requests per second", "| 2 | 1020 | Failed | fast | 1001 | 11 ms | 84 ms | 190 | 10% |"},
		page.String():     {`<table id="probes">`, `<tr class="bad"><th scope="row" class="text">2</th><td class="text">1020</td><td class="text">Failed</td><td class="text">fast</td><td>1001</td>`},
	} {
		for _, w := range want {
			if !strings.Contains(name, w) {
				t.Errorf("%q is missing in:\n%s", w, name)
			}
		}
		if strings.Contains(name, "settle-1") || !strings.Contains(name, "warm") {
			t.Errorf("the stages:\n%s", name)
		}
	}
}
