package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/h2surge/h2surge/controllers/internal/desired"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
)

// followInterval is how often a pass looks whether the collector follows a new number of shards.
const followInterval = 200 * time.Millisecond

// scale gives the Job its number of indices. It adds indices at once: their runners get a share when they are ready. It
// removes an index only when its runner has no share any more and its counts are stored.
func scale(f *run.Facts) []Operation {
	if !scales(f) {
		return nil
	}
	n := indices(f, f.View.ShardsRevision == f.ShardsRevision)
	if n == run.Completions(f.Job) {
		if n != Capacity(f) {
			f.Again(followInterval)
		}
		return nil
	}
	return []Operation{{
		What:  fmt.Sprintf("Job %s with %d indices", f.Job.Name, n),
		Apply: desired.ApplyScale(f.Job, int32(n)), Manager: desired.FieldManager + "-scale", Force: true,
	}}
}

// scales returns whether the number of shards can change.
func scales(f *run.Facts) bool {
	return f.Job != nil && f.Job.DeletionTimestamp == nil && f.Record.Stop == nil && !f.TakenOver() && run.Loading(f)
}

// Capacity returns how many shards the collector may give a share. It is the desired number, unless a shard needs
// another pod, and the Job creates it only after it had fewer indices. Then it is the number of that shard: if shard 1
// of 4 was scaled away before, it returns 1 until the Job has at most one index. The same holds for a shard above the
// Job's indices whose pod still exists.
func Capacity(f *run.Facts) int {
	n := f.Shards()
	if !f.StartDecided() || f.Job == nil {
		return n
	}
	have := run.Completions(f.Job)
	for i := range n {
		if i < have && vacant(f, i) && run.Spent(f.Job, i) {
			return i
		}
		if i >= have && f.Pods[i] != nil {
			return have
		}
	}
	return n
}

// vacant returns whether the last runner of a shard was scaled away, and no other pod of it exists.
func vacant(f *run.Facts, shard int) bool {
	last := f.Record.Last(shard)
	return last != nil && last.Loss == nil && f.Pods[shard] == nil && ownerRecorded(f, shard)
}

// ownerRecorded returns whether the runner that got the share of a shard last is recorded. If not, its counts are not
// stored.
func ownerRecorded(f *run.Facts, shard int) bool {
	owner, ok := f.Record.Pods[shard]
	return !ok || f.IsRecorded(shard, owner.UID)
}

// indices returns how many indices the Job must have now. settled is true if the collector knows the capacity, so that
// no shard above it gets a share.
func indices(f *run.Facts, settled bool) int {
	have, want := run.Completions(f.Job), Capacity(f)
	for i := range have {
		switch {
		case i >= want && !mayGo(f, i, settled), i < want && want > have && (vacant(f, i) || Leaving(f, i)):
			return have
		}
	}
	for i := have; i < want; i++ {
		if run.Spent(f.Job, i) { // of a time when it had more; its controller has not taken notice of fewer yet
			return have
		}
	}
	return want
}

// mayGo returns whether the pod of a shard can go without a loss of counts.
func mayGo(f *run.Facts, shard int, settled bool) bool {
	if f.Pods[shard] == nil && f.Record.Last(shard) != nil && ownerRecorded(f, shard) {
		return true
	}
	if shard >= len(f.View.Shards) {
		return settled
	}
	sh := &f.View.Shards[shard]
	if sh.Lost != nil || sh.Left {
		return f.IsRecorded(shard, sh.Pod.UID)
	}
	return settled && !sh.Member && (sh.Pod.Address == "" || sh.Snapshot != nil && !shards.HadSlots(sh.Snapshot))
}

// Leaving returns whether a change took the share of a shard, and its runner waits for responses.
func Leaving(f *run.Facts, shard int) bool {
	if shard >= len(f.View.Shards) {
		return false
	}
	sh := &f.View.Shards[shard]
	return sh.Member && !sh.Left && sh.Lost == nil && !slices.Contains(f.View.Members, shard)
}
