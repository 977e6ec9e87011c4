package build

import (
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestGeneratorLeaseExpired: both runners of shard 0 were paused, and that of shard 2.
func TestGeneratorLeaseExpired(t *testing.T) {
	snapshot := func(shard int, seconds, dropped int64) runnerv1alpha1.Snapshot {
		return runnerv1alpha1.Snapshot{Shard: shard, LeaseGaps: runnerv1alpha1.LeaseGaps{Count: min(1, seconds), Nanoseconds: seconds * int64(time.Second), Dropped: dropped}}
	}
	snapshots := []runnerv1alpha1.Snapshot{snapshot(0, 2, 20), snapshot(0, 3, 5), snapshot(1, 0, 0), snapshot(2, 1, 0)}
	var sum runnerv1alpha1.Snapshot
	for i := range snapshots {
		addSnapshot(&sum, &snapshots[i], 1)
	}
	got := generator(nil, snapshots, &sum).LeaseExpired
	if want := (runnerv1alpha1.LeaseExpiredResult{Shards: 2, Seconds: 3, Dropped: 25}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
