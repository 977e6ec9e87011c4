package run

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/internal/report/build"
)

// Remaining returns the number of shards that have a share of the load and are not lost.
func (f *Facts) Remaining() int {
	n := 0
	for _, i := range f.View.Members {
		if i < len(f.View.Shards) && f.View.Shards[i].Lost == nil {
			n++
		}
	}
	return n
}

// TakenOver returns whether this process did not hear from all runners of a run that another process started.
func (f *Facts) TakenOver() bool {
	if f.Record.End != nil || !f.StartDecided() {
		return false
	}
	return len(f.View.Members) == 0 || slices.ContainsFunc(f.View.Shards, func(sh shards.Shard) bool {
		return sh.Member && sh.Snapshot == nil && sh.Lost == nil
	})
}

// Loading returns whether the start is decided and a runner can have requests to send.
func Loading(f *Facts) bool {
	switch {
	case f.Record.State == record.Finishing:
		return false
	case f.TakenOver():
		return true // the operator did not ask all runners yet
	}
	return slices.ContainsFunc(f.View.Shards, sends)
}

// sends returns whether a runner can have requests of its share to send.
func sends(sh shards.Shard) bool {
	return sh.Member && !sh.Final() && (sh.Snapshot == nil || !sentAll(sh.Snapshot.State))
}

// Paused returns whether every runner that has requests to send is suspended, and not because it waits for a probe.
func Paused(f *Facts) bool {
	if f.Plan != nil && f.Plan.Search != nil && !f.Record.Live.Suspended {
		return false
	}
	found := false
	for _, sh := range f.View.Shards {
		if !sends(sh) {
			continue
		}
		if sh.Snapshot == nil || !sh.Snapshot.Suspended {
			return false
		}
		found = true
	}
	return found
}

// sentAll returns whether a runner in this state sent its last request.
func sentAll(state runnerv1alpha1.State) bool {
	switch state {
	case runnerv1alpha1.StateDraining, runnerv1alpha1.StateDrained, runnerv1alpha1.StateTearingDown,
		runnerv1alpha1.StateDone:
		return true
	}
	return false
}

// runnerOf identifies a runner and its process.
func runnerOf(shard int, snap *runnerv1alpha1.Snapshot) build.Runner {
	who := build.Runner{Shard: shard}
	if snap != nil {
		who.Boot = snap.Boot
	}
	return who
}

// Lost are the runners that had a part of the load and were lost.
func (f *Facts) Lost() []build.Runner {
	var out []build.Runner
	for i := range f.Ended {
		if rec := &f.Ended[i]; rec.Loss != nil && rec.Member {
			out = append(out, runnerOf(rec.Index, rec.Snapshot))
		}
	}
	for i := range f.View.Shards {
		if sh := &f.View.Shards[i]; sh.Lost != nil && sh.Member && !f.IsRecorded(i, sh.Pod.UID) {
			out = append(out, runnerOf(i, sh.Snapshot))
		}
	}
	return out
}

// Incomplete: counts of a lost runner are missing. A runner that was reached again has all, but with onShardLost Fail
// the test ended because of it.
func (f *Facts) Incomplete() bool {
	if !f.ToleratesLoss() {
		return len(f.Lost()) > 0
	}
	return slices.ContainsFunc(f.Ended,
		func(rec shards.Recorded) bool { return rec.Loss != nil && rec.Member && rec.State != record.ShardDone }) ||
		slices.ContainsFunc(f.View.Shards, func(sh shards.Shard) bool {
			return sh.Lost != nil && sh.Member && sh.State != shards.Recovered && !f.IsRecorded(sh.Index, sh.Pod.UID)
		})
}

// RunnerIn is the lowest shard whose runner is in a state; -1: none is.
func RunnerIn(view *shards.View, state runnerv1alpha1.State) int {
	return slices.IndexFunc(view.Shards, func(sh shards.Shard) bool {
		return sh.Lost == nil && sh.Snapshot != nil && sh.Snapshot.State == state
	})
}

// See takes over a view of the collector, with the report of what is known so far.
func (f *Facts) See(view *shards.View) {
	f.View = view
	if view.Progress == nil {
		return
	}
	report := *view.Progress.Report
	report.PlanHash = f.PlanHash
	f.Report = &report
}
