package build

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestShards(t *testing.T) {
	above := runnerv1alpha1.Above(5_000_000)
	first, second := newSimulated(0, 0), newSimulated(2, 0)
	first.Generator = runnerv1alpha1.Generator{
		Workers: 2, CPUs: []int{2, 3}, Exclusive: true, Pod: "p-0", Node: "n", LagP99: 70, ThrottledMicroseconds: 5,
		GCPauseMicroseconds: 6, CPUSeconds: 1.5,
	}
	first.Counters.Dropped, first.Counters.Connects, first.Counters.Reconnects = 1, 5, 1
	first.do(10, 1000)
	second.do(1, 2000)
	times := func(n, us int64) runnerv1alpha1.Times {
		return runnerv1alpha1.Times{Count: n, Min: us, Mean: us, P50: us, P90: us, P95: us, P99: us, P999: us, Max: us}
	}
	withDropped := times(11, 1000)
	withDropped.Unanswered = 1
	withDropped.P95, withDropped.P99, withDropped.P999, withDropped.Max = above, above, above, above
	snapshots := []runnerv1alpha1.Snapshot{*first.at(time.Second), *second.at(time.Second)}
	got, err := shards(&Input{
		Plan: testPlan(), Lost: []Runner{{Shard: 1}, {2, "b"}}, ClockOffsets: map[Runner]int64{{0, "b"}: 3_000_000, {2, "b"}: 5_000_000},
	}, snapshots, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []runnerv1alpha1.ShardResult{
		{
			Shard: 0, Pod: "p-0", Node: "n", Workers: 2, CPUs: []int{2, 3}, Exclusive: true, Sent: 10, Succeeded: 10, Dropped: 1,
			ResponseTime: withDropped, LagP99Microseconds: 70, ThrottledMicroseconds: 5, GCPauseMicroseconds: 6,
			CPUSeconds: 1.5, Connects: 5, Reconnects: 1,
		},
		{Shard: 1, Lost: true},
		{Shard: 2, Lost: true, Sent: 1, Succeeded: 1, ResponseTime: times(1, 2000), StartSkewMicroseconds: 2000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	snapshots[0].ResponseTime.Counts = []byte("!")
	if _, err := shards(&Input{Plan: testPlan()}, snapshots, true); err == nil {
		t.Error("no error for a distribution that cannot be read")
	}
}
