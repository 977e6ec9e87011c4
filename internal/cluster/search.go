package cluster

import (
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/search"
	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/build"
)

// searchText returns what a search does, in a few words; empty: the test has none, or it has ended.
func searchText(lt *v1alpha1.LoadTest) string {
	s := lt.Status.Search
	if s == nil || s.Outcome != "" {
		return ""
	}
	text := mask.Line(s.Message)
	return strings.ToLower(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// shareText returns an error rate; empty: the probe is invalid.
func shareText(rate *float64) string {
	if rate == nil {
		return ""
	}
	return build.FormatPercent(*rate)
}

// ProbeLines returns a line for each probe of a search from the one at an index on; see search.Words.
func ProbeLines(lt *v1alpha1.LoadTest, from int) (out []string) {
	if lt.Status.Search == nil {
		return nil
	}
	probes, of := lt.Status.Search.Probes, rv.Search{Concurrency: lt.Status.Search.Load == v1alpha1.SearchConcurrency}
	for i := min(from, len(probes)); i < len(probes); i++ {
		p := &probes[i]
		out = append(out, search.Words{
			Number: i + 1, Load: of.Text(p.Load), Outcome: rv.ProbeOutcome(p.Outcome),
			P50:    timeText(p.ResponseTime.P50Microseconds, p.ResponseTime.AboveMicroseconds),
			P99:    timeText(p.ResponseTime.P99Microseconds, p.ResponseTime.AboveMicroseconds),
			Errors: shareText(p.ErrorRate), Why: mask.Line(p.Message),
		}.String())
	}
	return out
}
