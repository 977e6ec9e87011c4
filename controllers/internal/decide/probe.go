package decide

import (
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
	"github.com/h2surge/h2surge/internal/load/search"
)

// probe takes over what the probe showed that has ended, and decides with the last one that the search ends the load.
func probe(f *run.Facts, next *record.Record) error {
	p := f.View.Probe
	if p == nil || f.Plan.Search == nil || next.Stop != nil || p.Number != len(f.Record.Search.Probes) {
		return nil
	}
	next.Search.Probes, next.Search.Begun = append(next.Search.Probes, clipped(p.ProbeResult)), 0
	if _, more := search.Replay(*f.Plan.Search, next.Search.Probes).Next(); more {
		return nil
	}
	next.Stop = &record.Stop{Reason: runnerv1alpha1.StopSearched, Time: f.MicroTime()}
	return next.On(record.EventStop)
}

// clipped bounds the texts of a probe.
func clipped(p runnerv1alpha1.ProbeResult) runnerv1alpha1.ProbeResult {
	p.Message = shorten.To(p.Message, 256)
	return p
}

// Searched returns the result of a search; nil: the test has none, or it has not started.
func Searched(f *run.Facts) *runnerv1alpha1.SearchResult {
	if f.Plan == nil || f.Plan.Search == nil || !f.StartDecided() {
		return nil
	}
	probes := f.Record.Search.Probes
	out := search.Replay(*f.Plan.Search, probes).Result(probes)
	return &out
}
