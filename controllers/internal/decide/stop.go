package decide

import (
	"slices"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// overdue returns whether spec.activeDeadlineSeconds passed since the operator first saw the LoadTest, or since the end
// of its last wait for a lock or a queue.
func overdue(f *run.Facts) bool {
	d := f.LoadTest.Spec.ActiveDeadlineSeconds
	if d == nil || f.Record.Queued {
		return false
	}
	from := f.Record.Created.Time
	if f.Record.Admitted != nil {
		from = f.Record.Admitted.Time
	}
	wait := from.Add(time.Duration(*d) * time.Second).Sub(f.Now)
	if wait > 0 {
		f.Again(wait)
	}
	return wait <= 0
}

// Reasons of an early end, as runners get them with Stop and a report shows them in Stopped.
const (
	StopBySpec     = "spec.stop"
	stopByDeadline = "spec.activeDeadlineSeconds"
	stopByLoss     = "spec.runner.onShardLost"
	stopByTooFew   = "spec.runner.minShards"
)

// StopReason returns why the run must end early whatever the runners do; empty: it must not.
func StopReason(f *run.Facts) string {
	switch {
	case f.LoadTest.Spec.Stop:
		return StopBySpec
	case overdue(f):
		return stopByDeadline
	}
	return ""
}

// stopByLosses returns why the losses of a record end the run; empty: they do not.
func stopByLosses(f *run.Facts, next *record.Record) string {
	switch {
	case !slices.ContainsFunc(next.Shards, func(rec record.Shard) bool { return rec.Loss != nil && rec.Member }):
		return ""
	case !f.ToleratesLoss():
		return stopByLoss
	// the others cannot send the load of a probe
	case f.Policy() == v1alpha1.ShardLostContinue && f.LoadTest.Spec.Search != nil:
		return stopByLoss
	case f.LoadTest.Spec.Runner.MinShards != nil && !f.TakenOver() &&
		f.Remaining() < int(*f.LoadTest.Spec.Runner.MinShards):
		return stopByTooFew
	// A runner joins the load of others. Without one, the runners that replace lost ones would wait for a probe for ever.
	case f.LoadTest.Spec.Search != nil && !f.TakenOver() && !slices.ContainsFunc(f.View.Shards,
		func(sh shards.Shard) bool { return sh.Member && sh.Lost == nil }):
		return stopByLoss
	}
	return ""
}
