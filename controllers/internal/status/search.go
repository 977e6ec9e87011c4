package status

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/load/search"
)

// searchMessage describes the probe that runs, or the wait for the next one.
func searchMessage(s *runnerv1alpha1.Search, probes *record.Search) string {
	load, more := search.Replay(*s, probes.Probes).Next()
	switch {
	case !more:
		return "The search has ended"
	case probes.Begun == 0:
		return fmt.Sprintf("The runners wait for probe %d", len(probes.Probes)+1)
	}
	return fmt.Sprintf("Probe %d runs at %s", len(probes.Probes)+1, s.Text(load))
}

// searchStatus is the search as status shows it; nil: the test has none, or it has not started. Before the end of the
// run or of the search there is no outcome.
func searchStatus(f *run.Facts, ended bool) *v1alpha1.SearchStatus {
	r := decide.Searched(f)
	if r == nil {
		return nil
	}
	out := &v1alpha1.SearchStatus{Load: v1alpha1.SearchRequestsPerSecond, Highest: r.Highest, Lowest: r.Lowest,
		Message: searchMessage(f.Plan.Search, &f.Record.Search)}
	if r.Concurrency {
		out.Load = v1alpha1.SearchConcurrency
	}
	if _, more := search.Replay(*f.Plan.Search, r.Probes).Next(); !more || ended {
		out.Outcome, out.Message = v1alpha1.SearchOutcome(r.Outcome), r.Message
	}
	for i := range r.Probes {
		out.Probes = append(out.Probes, probeStatus(&r.Probes[i]))
	}
	return out
}

func probeStatus(p *runnerv1alpha1.ProbeResult) v1alpha1.ProbeStatus {
	out := v1alpha1.ProbeStatus{Load: p.Load, Outcome: v1alpha1.ProbeOutcome(p.Outcome), Message: p.Message}
	if p.Outcome != runnerv1alpha1.ProbeInvalid {
		out.Achieved, out.ErrorRate, out.ResponseTime = new(rate(p.Achieved)), new(share(float64(p.ErrorRate))),
			compactTimes(&p.ResponseTime)
	}
	return out
}
