package render

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// stageTimeTable has the times and the errors of each stage with figures, if several are measured. Those of the only
// one are those of the run.
func stageTimeTable(r *runnerv1alpha1.Report) *table {
	t := &table{ID: "stage-times", Topic: topicRate, Caption: "Response times and errors of stages", Left: 1,
		Head: []string{"stage", "p50", "p95", "p99", "max", "errors"}}
	if len(measuredStages(r)) < 2 {
		return t
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if f := s.Figures; f != nil {
			cells := append([]any{stageOf(s)}, measuredTimes(&f.ResponseTime, p50, p95, p99, longest)...)
			t.Rows = append(t.Rows, tableRow{Cells: append(cells, errorRate(float64(f.ErrorRate), s.Sent+s.Dropped)),
				Bad: f.ErrorRate > 0})
		}
	}
	return t
}

// stageNotes say which stages lack figures, and where the first threshold failed on a ramp.
func stageNotes(r *runnerv1alpha1.Report) (out []string) {
	var reasons []string
	lack := map[string]int{}
	for i := range r.Stages {
		if why := r.Stages[i].NoFigures; why != "" {
			if lack[why]++; lack[why] == 1 {
				reasons = append(reasons, why)
			}
		}
	}
	for _, why := range reasons {
		stages := build.Plural(lack[why], "stage")
		out = append(out, fmt.Sprintf("The times and errors of %s are missing: %s.", stages, why))
	}
	if note := rampNote(r); note != "" {
		out = append(out, note)
	}
	return out
}

// rampNote names the threshold that failed first while a rate rose; "": none did.
func rampNote(r *runnerv1alpha1.Report) string {
	var first *runnerv1alpha1.ThresholdResult
	for i := range r.Verdict.Thresholds {
		if t := &r.Verdict.Thresholds[i]; t.Ramp != nil && (first == nil || t.Ramp.From < first.Ramp.From) {
			first = t
		}
	}
	if first == nil {
		return ""
	}
	at := first.Ramp
	note := fmt.Sprintf("Stage %s reached %s requests per second when threshold %s first failed, %s after the start",
		at.Stage, build.FormatRate(at.Asked), first.Name, offset(at.From))
	if at.Windows > 0 {
		note += fmt.Sprintf(". It failed in %d of %d windows of the stage", at.Failed, at.Windows)
	}
	return note + "."
}
