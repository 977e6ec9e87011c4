package result

import (
	"fmt"
	"reflect"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// Between returns a plan with one stage of a plan only, and what the runners counted between two sets of their snapshots, as final
// snapshots of a run of that plan. The stage must be the only measured one with requests in that time, and no request may be in
// flight in either set: then the counts are those of the stage, exactly. The snapshots must have the times of steps.
func Between(plan *runnerv1alpha1.Plan, stage int, before, after []runnerv1alpha1.Snapshot) (*runnerv1alpha1.Plan, []runnerv1alpha1.Snapshot, error) {
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
			if err := merge(&times[k], d); err != nil {
				return fmt.Errorf("%s of step %d: %w", stepTimeNames[k], i, err)
			}
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

// subtractSnapshot takes what was counted in an earlier snapshot of the same runner from a later one. The histograms of the later
// one have the lag and belong to the caller.
func subtractSnapshot(s, was *runnerv1alpha1.Snapshot) error {
	s.Steps, s.Chains, s.Targets, s.Selections = slices.Clone(s.Steps), slices.Clone(s.Chains), slices.Clone(s.Targets), slices.Clone(s.Selections)
	s.Listeners = slices.Clone(s.Listeners)
	lag := lagOf(was)
	for _, pair := range [][2]any{
		{&s.Counters, &was.Counters}, {&s.Steps, &was.Steps}, {&s.Targets, &was.Targets}, {&s.Chains, &was.Chains}, {&s.Selections, &was.Selections}, {&s.Listeners, &was.Listeners}, {&s.Causes, &was.Causes},
		{&s.StatusCodes, &was.StatusCodes}, {&s.ResponseTime, &was.ResponseTime}, {&s.Histograms.Lag, &lag}, {&s.LeaseGaps, &was.LeaseGaps}, {&s.Limited, &was.Limited},
		{&s.Generator.CPUSeconds, &was.Generator.CPUSeconds}, {&s.Generator.ThrottledMicroseconds, &was.Generator.ThrottledMicroseconds},
		{&s.Generator.GCPauseMicroseconds, &was.Generator.GCPauseMicroseconds}, {&s.Generator.BatchedNanoseconds, &was.Generator.BatchedNanoseconds},
		{&s.Generator.Naps, &was.Generator.Naps}, {&s.Generator.NapNanoseconds, &was.Generator.NapNanoseconds},
	} {
		if err := subtract(reflect.ValueOf(pair[0]).Elem(), reflect.ValueOf(pair[1]).Elem()); err != nil {
			return err
		}
	}
	s.Failures = failuresSince(s.Failures, was.Failures)
	return nil
}

var histogramType = reflect.TypeFor[runnerv1alpha1.Histogram]()

// subtract takes all numbers of a value from those of another one, in all fields, items and entries. It changes no map.
func subtract(from, what reflect.Value) error {
	switch {
	case from.Type() == histogramType:
		return subtractHistogram(from, what)
	case from.CanInt():
		from.SetInt(from.Int() - what.Int())
	case from.CanFloat():
		from.SetFloat(from.Float() - what.Float())
	}
	switch from.Kind() {
	case reflect.Struct:
		for i := range from.NumField() {
			if err := subtract(from.Field(i), what.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range min(from.Len(), what.Len()) {
			if err := subtract(from.Index(i), what.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		subtractMap(from, what)
	}
	return nil
}

func subtractHistogram(from, what reflect.Value) error {
	now, err := histogram.Decode(from.Interface().(runnerv1alpha1.Histogram))
	if err != nil {
		return err
	}
	earlier, err := histogram.Decode(what.Interface().(runnerv1alpha1.Histogram))
	if err != nil {
		return err
	}
	since := now.Since(earlier)
	if since == nil {
		return fmt.Errorf("a histogram has fewer values than before")
	}
	from.Set(reflect.ValueOf(since.Encode()))
	return nil
}

// subtractMap makes a new map of counts without those that are zero.
func subtractMap(from, what reflect.Value) {
	out := reflect.MakeMap(from.Type())
	for entry := from.MapRange(); entry.Next(); {
		n := entry.Value().Int()
		if was := what.MapIndex(entry.Key()); was.IsValid() {
			n -= was.Int()
		}
		if n != 0 {
			out.SetMapIndex(entry.Key(), reflect.ValueOf(n))
		}
	}
	from.Set(out)
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
