package decide

import (
	"maps"
	"slices"

	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// abort is the threshold that must end the test.
type abort struct{ *shards.Abort }

// reason is the reason of the stop.
func (a *abort) reason() string { return verdict.AbortReason(a.Name, a.After) }

// aborting returns the threshold that must end the test; nil: none must.
func aborting(f *run.Facts, next *record.Record) *abort {
	if f.View.Abort == nil || next.State != record.Running {
		return nil
	}
	return &abort{f.View.Abort}
}

// thresholds takes over the thresholds on windows that failed, so that they have failed at the end also if another
// operator sees only later windows.
func thresholds(f *run.Facts, next *record.Record) {
	for _, name := range slices.Sorted(maps.Keys(f.View.Failed)) {
		if !hasFailed(f, name) {
			next.Thresholds = append(next.Thresholds, record.ThresholdOf(name, f.View.Failed[name]))
		}
	}
}

// hasFailed returns whether the record has a failure of the threshold.
func hasFailed(f *run.Facts, name string) bool {
	return slices.ContainsFunc(f.Record.Thresholds, func(t record.Threshold) bool { return t.Name == name })
}

func withoutThreshold(all []record.Threshold, name string) []record.Threshold {
	return slices.DeleteFunc(slices.Clone(all), func(t record.Threshold) bool { return t.Name == name })
}
