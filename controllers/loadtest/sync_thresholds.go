package loadtest

import (
	"maps"
	"slices"

	"github.com/h2surge/h2surge/controllers/internal/collect"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/state"
	"github.com/h2surge/h2surge/internal/verdict"
)

// abort is the threshold that must end the test.
type abort struct{ *collect.Abort }

// reason is the reason of the stop.
func (a *abort) reason() string { return verdict.AbortReason(a.Name, a.After) }

// aborting returns the threshold that must end the test; nil: none must.
func (s *scope) aborting(run *record.Record) *abort {
	if s.view.Abort == nil || run.State != state.Running {
		return nil
	}
	return &abort{s.view.Abort}
}

// decideThresholds takes over the thresholds on windows that failed, so that they have failed at the end also if another operator
// sees only later windows.
func (s *scope) decideThresholds(run *record.Record) {
	for _, name := range slices.Sorted(maps.Keys(s.view.Failed)) {
		if !s.hasFailed(name) {
			o := s.view.Failed[name]
			run.Thresholds = append(run.Thresholds, record.Threshold{Name: name, Observed: o.Observed, After: o.After})
		}
	}
}

// hasFailed returns whether the record has a failure of the threshold.
func (s *scope) hasFailed(name string) bool {
	return slices.ContainsFunc(s.run.Thresholds, func(t record.Threshold) bool { return t.Name == name })
}

// aborted returns whether a threshold ended the test before its end.
func (s *scope) aborted() bool {
	return slices.ContainsFunc(s.run.Thresholds, func(t record.Threshold) bool { return t.Abort })
}

func withoutThreshold(all []record.Threshold, name string) []record.Threshold {
	return slices.DeleteFunc(slices.Clone(all), func(t record.Threshold) bool { return t.Name == name })
}

// failedThresholds are the stored failures.
func (s *scope) failedThresholds() map[string]verdict.Observation {
	out := map[string]verdict.Observation{}
	for i := range s.run.Thresholds {
		t := &s.run.Thresholds[i]
		out[t.Name] = verdict.Observation{Observed: t.Observed, After: t.After}
	}
	return out
}

// setThresholds sets what the verdict needs of thresholds that were compared while the test ran. The worst window since this operator
// started counts, unless a failure is stored and the window passed.
func (s *scope) setThresholds(facts *verdict.Facts) {
	facts.Seen = s.failedThresholds()
	for name, o := range s.view.Seen {
		if _, stored := facts.Seen[name]; !stored || !o.Passed {
			facts.Seen[name] = o
		}
	}
	for i := range s.run.Thresholds {
		if t := &s.run.Thresholds[i]; t.Abort {
			facts.Aborted = t.Name
			facts.Seen[t.Name] = verdict.Observation{Observed: t.Observed, After: t.After}
		}
	}
}
