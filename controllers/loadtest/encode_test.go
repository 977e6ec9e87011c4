package loadtest

import (
	"slices"
	"strings"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/desired"
)

func TestFit(t *testing.T) {
	steps := make([]runnerv1alpha1.StepResult, 200)
	for i := range steps {
		steps[i].Chain, steps[i].Sent = strings.Repeat(string(rune('a'+i%26)), i), int64(i)*7919
	}
	report := runnerv1alpha1.Report{
		Steps: steps, Histograms: &runnerv1alpha1.ReportHistograms{}, Windows: []runnerv1alpha1.Window{{Histogram: runnerv1alpha1.Histogram{Count: 1}}},
	}
	whole, dropped, err := fit(report, 1<<20)
	if err != nil || len(dropped) != 0 {
		t.Fatalf("dropped %v (%v) although all fits", dropped, err)
	}
	small, dropped, err := fit(report, len(whole)/2)
	if err != nil || len(small) > len(whole)/2 || !slices.Equal(dropped, []string{"windows.histogram", "histograms", "windows", "shards", "targets", "steps"}) {
		t.Errorf("%d bytes, dropped %v (%v)", len(small), dropped, err)
	}
	_, back, err := desired.DecodeReport(desired.Report(&v1alpha1.LoadTest{}, small))
	if err != nil || back.Steps != nil {
		t.Errorf("%d steps came back (%v)", len(back.Steps), err)
	}
	if len(report.Steps) != 200 || report.Histograms == nil || report.Windows[0].Histogram.Count != 1 {
		t.Error("fitting changed the report itself")
	}
	if _, _, err := fit(report, 10); err == nil {
		t.Error("something fits into 10 bytes")
	}
}
