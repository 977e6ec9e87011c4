package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// stagesHead has the names of the fields of a stage and of its figures in the JSON.
var stagesHead = []string{
	"name", "chain", "warmUp", "asked", "achieved", "askedChains", "achievedChains", "paused", "sent", "dropped", "done", "succeeded",
	"failedChecks", "timedOut", "reset", "connectionLost", "inFlightAtEnd", "errorRate", "responseTime.count", "responseTime.p50",
	"responseTime.p90", "responseTime.p95", "responseTime.p99", "responseTime.p999", "responseTime.max", "noFigures",
}

// Stages writes the stages of the report as CSV, one row each, after a row with the names of the columns. Cells of figures that a stage does
// not have are empty.
func Stages(w io.Writer, r *runnerv1alpha1.Report) error {
	out := csv.NewWriter(w)
	_ = out.Write(stagesHead) // Error returns it
	for i := range r.Stages {
		_ = out.Write(stageRow(&r.Stages[i]))
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing the stages as CSV: %w", err)
	}
	return nil
}

func stageRow(s *runnerv1alpha1.StageResult) []string {
	row := []string{
		s.Name, s.Chain, strconv.FormatBool(s.WarmUp), decimals(s.Asked), decimals(s.Achieved), decimals(s.AskedChains), decimals(s.AchievedChains),
		decimals(s.Paused), decimal(s.Sent), decimal(s.Dropped),
	}
	row = append(row, figureCells(s.Figures)...)
	for len(row) < len(stagesHead)-1 {
		row = append(row, "")
	}
	return append(row, s.NoFigures)
}

// figureCells returns the cells from done on, without those at the end that are not known.
func figureCells(f *runnerv1alpha1.StageFigures) (out []string) {
	if f == nil {
		return nil
	}
	for _, n := range []int64{f.Done, f.Succeeded, f.FailedChecks, f.TimedOut, f.Reset, f.ConnectionLost, f.InFlightAtEnd} {
		out = append(out, decimal(n))
	}
	out = append(out, runnerv1alpha1.FormatPercentage(float64(f.ErrorRate), 6))
	t := &f.ResponseTime
	if t.Count == 0 {
		return out
	}
	out = append(out, decimal(t.Count))
	for _, us := range []int64{t.P50, t.P90, t.P95, t.P99, t.P999, t.Max} {
		out = append(out, csvTime(us))
	}
	return out
}
