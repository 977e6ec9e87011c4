package build

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Between returns what a report of one stage is built from: a plan that has only this stage, and final snapshots that
// have what the runners counted after the snapshots before and up to the snapshots after. These are exactly the
// counts of the stage if it is the only measured stage with requests in that time, and no request is in flight in
// either set. The snapshots must have the times of steps.
func Between(plan *runnerv1alpha1.Plan, stage int, before, after []runnerv1alpha1.Snapshot) (*runnerv1alpha1.Plan,
	[]runnerv1alpha1.Snapshot, error) {
	only := *plan
	only.Rates = plan.Rates[stage : stage+1]
	earlier := byRunner(before)
	var out []runnerv1alpha1.Snapshot
	for _, s := range latest(after) {
		if s.StartedAt == 0 || stage >= len(s.Stages) {
			continue
		}
		s.Histograms = &runnerv1alpha1.Histograms{Lag: lagOf(&s)}
		if was := earlier[runnerOf(&s)]; was != nil {
			if err := subtractSnapshot(&s, was); err != nil {
				return nil, nil, fmt.Errorf("snapshots of shard %d: %w", s.Shard, err)
			}
		}
		if err := addTotals(&s); err != nil {
			return nil, nil, fmt.Errorf("snapshot of shard %d: %w", s.Shard, err)
		}
		s.Stages = slices.Clone(s.Stages[stage : stage+1])
		s.State, s.Changed, s.Suspended, s.Stopped = runnerv1alpha1.StateDone, true, false, ""
		s.Lag, s.ServiceTime = runnerv1alpha1.Histogram{}, runnerv1alpha1.Histogram{}
		s.StageSelections = nil // the only stage has the figures of the run
		out = append(out, s)
	}
	return &only, out, nil
}

// addTotals makes the totals of the times from those of steps and targets, as a runner does at the end.
func addTotals(s *runnerv1alpha1.Snapshot) error {
	var times stepTimes
	for i := range s.Steps {
		for k, d := range s.Steps[i].Distributions() {
			h, err := histogram.Decode(*d)
			if err != nil {
				return fmt.Errorf("%s of step %d: %w", stepTimeNames[k], i, err)
			}
			times[k].Merge(h)
		}
	}
	s.Histograms.ServiceTime, s.Histograms.TimeToFirstByte = times[1].Encode(), times[2].Encode()
	lag, err := histogram.Decode(s.Histograms.Lag)
	if err != nil {
		return fmt.Errorf("lag: %w", err)
	}
	s.Generator.LagP99 = lag.Times().P99
	return nil
}

// subtractSnapshot subtracts an earlier snapshot of the same runner from s. The caller owns s.Histograms, which has
// the lag.
func subtractSnapshot(s, was *runnerv1alpha1.Snapshot) error {
	own(s)
	addSnapshot(s, was, -1)
	s.Failures = failuresSince(s.Failures, was.Failures)
	lag := lagOf(was)
	pairs := [][2]*runnerv1alpha1.Histogram{{&s.ResponseTime, &was.ResponseTime}, {&s.Histograms.Lag, &lag}}
	for i := range min(len(s.Steps), len(was.Steps)) {
		for k, earlier := range was.Steps[i].Distributions() {
			pairs = append(pairs, [2]*runnerv1alpha1.Histogram{s.Steps[i].Distributions()[k], earlier})
		}
	}
	for i := range min(len(s.Targets), len(was.Targets)) {
		for k, earlier := range was.Targets[i].Distributions() {
			pairs = append(pairs, [2]*runnerv1alpha1.Histogram{s.Targets[i].Distributions()[k], earlier})
		}
	}
	for i := range min(len(s.Selections), len(was.Selections)) {
		pairs = append(pairs, [2]*runnerv1alpha1.Histogram{&s.Selections[i].Time, &was.Selections[i].Time})
	}
	for i := range min(len(s.Listeners), len(was.Listeners)) {
		pairs = append(pairs, [2]*runnerv1alpha1.Histogram{&s.Listeners[i].Time, &was.Listeners[i].Time})
	}
	for _, p := range pairs {
		if err := subtractHistogram(p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}

// own gives a snapshot lists and maps that no other snapshot has.
func own(s *runnerv1alpha1.Snapshot) {
	s.Steps, s.Chains, s.Targets = slices.Clone(s.Steps), slices.Clone(s.Chains), slices.Clone(s.Targets)
	s.Selections, s.StageSelections, s.Listeners = slices.Clone(s.Selections), slices.Clone(s.StageSelections),
		slices.Clone(s.Listeners)
	s.Authorizations = slices.Clone(s.Authorizations)
	s.StatusCodes, s.Causes = maps.Clone(s.StatusCodes), maps.Clone(s.Causes)
	for i := range s.Steps {
		c := &s.Steps[i]
		c.FailedBy, c.StatusCodes, c.Problems = maps.Clone(c.FailedBy), maps.Clone(c.StatusCodes),
			maps.Clone(c.Problems)
	}
	for i := range s.Chains {
		s.Chains[i].AbortedBy = maps.Clone(s.Chains[i].AbortedBy)
	}
	for i := range s.Listeners {
		s.Listeners[i].FailedBy = maps.Clone(s.Listeners[i].FailedBy)
		s.Listeners[i].ByRule = maps.Clone(s.Listeners[i].ByRule)
	}
}

func subtractHistogram(from, what *runnerv1alpha1.Histogram) error {
	now, err := histogram.Decode(*from)
	if err != nil {
		return err
	}
	earlier, err := histogram.Decode(*what)
	if err != nil {
		return err
	}
	since := now.Since(earlier)
	if since == nil {
		return errors.New("a histogram has fewer values than before")
	}
	*from = since.Encode()
	return nil
}

func failuresSince(now, was []runnerv1alpha1.FailureCount) (out []runnerv1alpha1.FailureCount) {
	earlier := map[runnerv1alpha1.Failure]int64{}
	for _, f := range was {
		earlier[f.Failure] = f.Count
	}
	for _, f := range now {
		if f.Count -= earlier[f.Failure]; f.Count != 0 {
			out = append(out, f)
		}
	}
	return out
}
