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
// flight in either set: then the counts are those of the stage, exactly.
func Between(plan *runnerv1alpha1.Plan, stage int, before, after []runnerv1alpha1.Snapshot) (*runnerv1alpha1.Plan, []runnerv1alpha1.Snapshot, error) {
	only := *plan
	only.Rates = plan.Rates[stage : stage+1]
	earlier := byRunner(before)
	var out []runnerv1alpha1.Snapshot
	for _, s := range latest(after) {
		if s.StartedAt == 0 {
			continue
		}
		if s.State != runnerv1alpha1.StateDone {
			s.Histograms = &runnerv1alpha1.Histograms{Lag: s.Lag, ServiceTime: s.ServiceTime}
		}
		if was := earlier[runnerOf(&s)]; was != nil {
			if err := subtractSnapshot(&s, was); err != nil {
				return nil, nil, fmt.Errorf("snapshots of shard %d: %w", s.Shard, err)
			}
		}
		s.Stages = slices.Clone(s.Stages[min(stage, len(s.Stages)):min(stage+1, len(s.Stages))])
		s.State, s.Changed, s.Suspended, s.Stopped, s.Lag, s.ServiceTime = runnerv1alpha1.StateDone, true, false, "", runnerv1alpha1.Histogram{}, runnerv1alpha1.Histogram{}
		lag, err := histogram.Decode(s.Histograms.Lag)
		if err != nil {
			return nil, nil, fmt.Errorf("snapshot of shard %d: lag: %w", s.Shard, err)
		}
		s.Generator.LagP99 = lag.Times().P99
		out = append(out, s)
	}
	return &only, out, nil
}

// subtractSnapshot takes what was counted in an earlier snapshot of the same runner from one that does not share memory with others.
func subtractSnapshot(s, was *runnerv1alpha1.Snapshot) error {
	earlier := was.Histograms
	if earlier == nil {
		earlier = &runnerv1alpha1.Histograms{Lag: was.Lag, ServiceTime: was.ServiceTime}
	}
	final := *s.Histograms
	s.Histograms = &final
	s.Steps, s.Chains = slices.Clone(s.Steps), slices.Clone(s.Chains)
	for _, pair := range [][2]any{
		{&s.Counters, &was.Counters}, {&s.Steps, &was.Steps}, {&s.Chains, &was.Chains}, {&s.Causes, &was.Causes},
		{&s.StatusCodes, &was.StatusCodes}, {&s.ResponseTime, &was.ResponseTime}, {s.Histograms, earlier}, {&s.LeaseGaps, &was.LeaseGaps},
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
