package render

import (
	"io"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// CSV writes the windows of the report, one row each, after a row with the names of the columns: those of the fields
// of a window in the JSON, and time, the start of the window. Percentiles are empty if the window has no response.
func CSV(w io.Writer, r *runnerv1alpha1.Report) error {
	start, err := time.Parse(time.RFC3339, r.StartTime)
	head, rows := []string{"time"}, make([][]any, len(r.Windows))
	for i := range r.Windows {
		rows[i] = []any{nil}
		if err == nil {
			rows[i][0] = start.Add(time.Duration(r.Windows[i].From) * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	for _, c := range append(slices.Clip(windowColumns), seriesColumns(r)...) {
		if c.field == "" {
			continue
		}
		head = append(head, c.field)
		for i := range r.Windows {
			rows[i] = append(rows[i], c.value(&r.Windows[i]))
		}
	}
	return writeCSV(w, "windows", head, rows)
}

// Stages writes the stages of the report as CSV, one row each, after a row with the names of the fields of a stage
// and of its figures in the JSON, and with mean, p95 and max of each series of observations. Cells of figures that a
// stage does not have are empty.
func Stages(w io.Writer, r *runnerv1alpha1.Report) error {
	head := []string{
		"name", "chain", "warmUp", "asked", "achieved", "askedChains", "achievedChains", "paused", "sent", "dropped",
		"done", "succeeded",
		"failedChecks", "timedOut", "reset", "connectionLost", "inFlightAtEnd", "errorRate", "responseTime.count",
		"responseTime.p50",
		"responseTime.p90", "responseTime.p95", "responseTime.p99", "responseTime.p999", "responseTime.max",
		"noFigures",
	}
	rows := make([][]any, len(r.Stages))
	for i := range r.Stages {
		s := &r.Stages[i]
		row := []any{
			s.Name, s.Chain, s.WarmUp, rateCell(s.Asked), rateCell(s.Achieved), rateCell(s.AskedChains),
			rateCell(s.AchievedChains), rateCell(s.Paused),
			s.Sent, s.Dropped,
		}
		if f := s.Figures; f != nil {
			row = append(row, f.Done, f.Succeeded, f.FailedChecks, f.TimedOut, f.Reset, f.ConnectionLost,
				f.InFlightAtEnd, shareCell(f.ErrorRate))
			if f.ResponseTime.Count > 0 {
				row = append(append(row, f.ResponseTime.Count),
					measuredTimes(&f.ResponseTime, p50, p90, p95, p99, p999, longest)...)
			}
		}
		rows[i] = make([]any, len(head))
		copy(rows[i], row)
		rows[i][len(head)-1] = s.NoFigures
	}
	for i := range r.Observations {
		o := &r.Observations[i]
		for k := range o.Series {
			name := "observe." + columnOf(o, &o.Series[k])
			head = append(head, name+".mean", name+".p95", name+".max")
			for n := range rows {
				f := &runnerv1alpha1.SeriesFigures{}
				if n < len(o.Series[k].Stages) {
					f = &o.Series[k].Stages[n]
				}
				rows[n] = append(rows[n], observedCells("", "", f, o.Unit)[2:5]...)
			}
		}
	}
	return writeCSV(w, "stages", head, rows)
}
