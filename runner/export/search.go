package export

import (
	"bytes"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/result"
)

// probeRows returns a row for each probe of a search: its number, load and outcome, the rate achieved, p50, p99, dropped requests
// and the error rate.
func probeRows(s *runnerv1alpha1.SearchResult, time func(us int64) string) [][]string {
	var out [][]string
	for i := range s.Probes {
		p := &s.Probes[i]
		p50, p99 := "-", "-"
		if p.ResponseTime.Count > 0 {
			p50, p99 = time(p.ResponseTime.P50), time(p.ResponseTime.P99)
		}
		out = append(out, []string{
			fmt.Sprint(i + 1), fmt.Sprint(p.Load), string(p.Outcome), result.FormatRate(p.Achieved), p50, p99,
			decimal(p.Dropped), errorRate(float64(p.ErrorRate), p.Sent+p.Dropped),
		})
	}
	return out
}

// unitOf returns the unit of the loads of a search.
func unitOf(s *runnerv1alpha1.SearchResult) string {
	if s.Concurrency {
		return "requests in flight"
	}
	return "requests per second"
}

// probeHead names the columns of probeRows.
var probeHead = []string{"probe", "asked", "outcome", "achieved", "p50", "p99", "dropped", "errors"}

// search writes the probes of a search as text.
func search(b *bytes.Buffer, r *runnerv1alpha1.Report) {
	if r.Search == nil {
		return
	}
	section(b, "Search ("+unitOf(r.Search)+")")
	const format = "  %5s %10s  %-14s %10s %8s %8s %8s %7s"
	row := func(c []string) { line(b, format, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]) }
	row(probeHead)
	for _, cells := range probeRows(r.Search, result.FormatTime) {
		row(cells)
	}
}

// probeTable returns nil if the test has no search.
func probeTable(r *runnerv1alpha1.Report) *table {
	if r.Search == nil {
		return nil
	}
	t := &table{ID: "probes", Caption: "Probes of the search, in " + unitOf(r.Search), Left: 3, Head: probeHead}
	for i, cells := range probeRows(r.Search, micro) {
		t.Rows = append(t.Rows, tableRow{Cells: cells, Bad: r.Search.Probes[i].Outcome != runnerv1alpha1.ProbeHeld})
	}
	return t
}
