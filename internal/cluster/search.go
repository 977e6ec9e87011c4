package cluster

import (
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

// searchText returns what a search does, in a few words; empty: the test has none, or it has ended.
func searchText(lt *v1alpha1.LoadTest) string {
	s := lt.Status.Search
	if s == nil || s.Outcome != "" {
		return ""
	}
	text := plain(s.Message)
	return strings.ToLower(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// ProbeLines returns a line for each probe of a search from the one at an index on, such as
//
//	probe 3: 4000 requests per second held: p50 1.2ms, p99 8.4ms, errors 0%
func ProbeLines(lt *v1alpha1.LoadTest, from int) (out []string) {
	if lt.Status.Search == nil {
		return nil
	}
	probes, unit := lt.Status.Search.Probes, "requests per second"
	if lt.Status.Search.Load == v1alpha1.SearchConcurrency {
		unit = "requests in flight"
	}
	for i := min(from, len(probes)); i < len(probes); i++ {
		out = append(out, probeLine(i+1, &probes[i], unit))
	}
	return out
}

func probeLine(number int, p *v1alpha1.ProbeStatus, unit string) string {
	text := fmt.Sprintf("probe %d: %d %s ", number, p.Load, unit)
	switch p.Outcome {
	case v1alpha1.ProbeInvalid:
		return text + "are probed again: " + plain(p.Message)
	case v1alpha1.ProbeHeld:
		text += "held"
	case v1alpha1.ProbeGeneratorBound:
		text += "were too many for the generator"
	default:
		text += "failed"
	}
	text += fmt.Sprintf(": p50 %s, p99 %s, errors %s", timeText(p.ResponseTime.P50, p.ResponseTime.Above), timeText(p.ResponseTime.P99, p.ResponseTime.Above), plain(p.ErrorRate))
	if p.Message != "" {
		text += "; " + plain(p.Message)
	}
	return text
}
