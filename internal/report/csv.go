package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// csvHead has the names of the fields of a window in the JSON. Time is the start of the window.
var csvHead = []string{
	"time", "from", "to", "stage", "warmUp", "suspended", "revision", "asked", "achieved", "sent", "succeeded", "failedChecks", "timedOut",
	"reset", "connectionLost", "dropped", "inFlight", "connects", "responseTime.count", "responseTime.p50", "responseTime.p90",
	"responseTime.p99", "responseTime.max", "lagP99", "shards",
}

// CSV writes the windows of the report, one row each, after a row with the names of the columns. Percentiles are empty if the window has
// no response.
func CSV(w io.Writer, r *runnerv1alpha1.Report) error {
	start, err := time.Parse(time.RFC3339, r.StartTime)
	known := err == nil
	out := csv.NewWriter(w)
	_ = out.Write(csvHead) // Error returns it
	for i := range r.Windows {
		row := csvRow(&r.Windows[i])
		if known {
			row[0] = start.Add(time.Duration(r.Windows[i].From) * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		_ = out.Write(row)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing the windows as CSV: %w", err)
	}
	return nil
}

// csvRow leaves the first column empty.
func csvRow(w *runnerv1alpha1.Window) []string {
	row := []string{"", decimal(w.From), decimal(w.To), w.Stage, strconv.FormatBool(w.WarmUp), strconv.FormatBool(w.Suspended), decimal(w.Revision), decimals(w.Asked), decimals(w.Achieved)}
	for _, n := range []int64{w.Sent, w.Succeeded, w.FailedChecks, w.TimedOut, w.Reset, w.ConnectionLost, w.Dropped, w.InFlight, w.Connects, w.ResponseTime.Count} {
		row = append(row, decimal(n))
	}
	for _, us := range []int64{w.ResponseTime.P50, w.ResponseTime.P90, w.ResponseTime.P99, w.ResponseTime.Max, w.LagP99} {
		if !answered(w) {
			row = append(row, "")
			continue
		}
		row = append(row, csvTime(us))
	}
	return append(row, strconv.Itoa(w.Shards))
}

// csvTime is "> 5s" if there was no response: a number could be read as a measured time.
func csvTime(us int64) string {
	if _, above := runnerv1alpha1.LimitOf(us); above {
		return result.FormatTime(us)
	}
	return decimal(us)
}

func decimals(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
