package loadtest

import (
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/internal/search"
)

// decideProbe takes over what the probe showed that has ended, and decides with the last one that the search ends the load.
func (s *scope) decideProbe(run *record.Record) error {
	p := s.view.Probe
	if p == nil || s.plan.Search == nil || run.Stop != nil || p.Number != len(s.probes().Ended) {
		return nil
	}
	if run.Search == nil {
		run.Search = &record.Search{}
	}
	run.Search.Probes, run.Search.Begun = append(run.Search.Probes, clipped(p.ProbeResult)), 0
	if _, more := search.Replay(*s.plan.Search, run.Search.Probes).Next(); more {
		return nil
	}
	run.Stop = &record.Stop{Reason: runnerv1alpha1.StopSearched, Time: s.microTime()}
	return run.On(state.Stop)
}

// clipped bounds the texts of a probe.
func clipped(p runnerv1alpha1.ProbeResult) runnerv1alpha1.ProbeResult {
	p.Message = clip(p.Message, 256)
	return p
}

// begin notes the change that begins a probe.
func begin(run *record.Record, revision int64) {
	if run.Search == nil {
		run.Search = &record.Search{}
	}
	run.Search.Begun = revision
}

// probes are those of the record.
func (s *scope) probes() collect.Probes {
	if s.run.Search == nil {
		return collect.Probes{}
	}
	return collect.Probes{Ended: s.run.Search.Probes, Begun: s.run.Search.Begun}
}

// searched returns the result of a search; nil: the test has none, or it has not started.
func (s *scope) searched() *runnerv1alpha1.SearchResult {
	if s.plan == nil || s.plan.Search == nil || !s.startDecided() {
		return nil
	}
	probes := s.probes().Ended
	out := search.Replay(*s.plan.Search, probes).Result(probes)
	return &out
}

// searchMessage describes the probe that runs, or the wait for the next one.
func (s *scope) searchMessage() string {
	probes := s.probes()
	load, more := search.Replay(*s.plan.Search, probes.Ended).Next()
	switch {
	case !more:
		return "The search has ended"
	case probes.Begun == 0:
		return fmt.Sprintf("The runners wait for probe %d", len(probes.Ended)+1)
	}
	return fmt.Sprintf("Probe %d runs at %s", len(probes.Ended)+1, s.plan.Search.Text(load))
}

// searchStatus is the search as status shows it; nil: the test has none, or it has not started. Before the end of the run or of the
// search there is no outcome.
func (s *scope) searchStatus(ended bool) *v1alpha1.SearchStatus {
	r := s.searched()
	if r == nil {
		return nil
	}
	out := &v1alpha1.SearchStatus{Load: v1alpha1.SearchRequestsPerSecond, Highest: r.Highest, Lowest: r.Lowest, Message: s.searchMessage()}
	if r.Concurrency {
		out.Load = v1alpha1.SearchConcurrency
	}
	if _, more := search.Replay(*s.plan.Search, r.Probes).Next(); !more || ended {
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
		out.Achieved, out.ErrorRate, out.ResponseTime = decimal(p.Achieved), percentage(p.ErrorRate), compactTimes(&p.ResponseTime)
	}
	return out
}
