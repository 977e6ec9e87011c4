package build

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// shards has one entry for each runner that is known of, in the order of their shards and, of one shard,
// of their coming. They have response times if times is true.
func shards(in *Input, snapshots []runnerv1alpha1.Snapshot, times bool) ([]runnerv1alpha1.ShardResult, error) {
	out := make([]runnerv1alpha1.ShardResult, 0, len(snapshots))
	silent := map[Runner]bool{}
	for _, r := range in.Lost {
		silent[r] = true
	}
	var h histogram.H
	var adder histogram.Adder
	first, last := firstStart(snapshots, in.ClockOffsets), lastEnd(snapshots)
	for i := range snapshots {
		s := &snapshots[i]
		one := shardResult(s)
		one.Lost = in.isLost(runnerOf(s))
		if times {
			h.Reset()
			if err := adder.AddSince(s.ResponseTime, runnerv1alpha1.Histogram{}, &h, nil); err != nil {
				return nil, fmt.Errorf("snapshot of shard %d: response time: %w", s.Shard, err)
			}
			none := unansweredOf(in.Plan, s, drained(s) || one.Lost)
			none.addTo(&h)
			one.ResponseTime = h.Times()
		}
		delete(silent, runnerOf(s))
		one.Joined = joinedAt(s).Milliseconds()
		if !one.Lost {
			one.Left = leftAt(s, in.Plan, last).Milliseconds()
		}
		if at, ok := started(s, in.ClockOffsets); ok {
			one.StartSkewMicroseconds = (at - first) / int64(time.Microsecond)
		}
		out = append(out, one)
	}
	for r := range silent {
		out = append(out, runnerv1alpha1.ShardResult{Shard: r.Shard, Lost: true})
	}
	slices.SortStableFunc(out, func(a, b runnerv1alpha1.ShardResult) int {
		return cmp.Or(a.Shard-b.Shard, cmp.Compare(a.Joined, b.Joined))
	})
	return out, nil
}

func shardResult(s *runnerv1alpha1.Snapshot) runnerv1alpha1.ShardResult {
	g, c := &s.Generator, &s.Counters
	return runnerv1alpha1.ShardResult{
		Shard: s.Shard, Pod: g.Pod, Node: g.Node, Workers: g.Workers, CPUs: g.CPUs, Exclusive: g.Exclusive,
		IdleStrategy: g.IdleStrategy,
		Sent:         c.Sent, Succeeded: c.Succeeded, Dropped: c.Dropped,
		LagP99Microseconds: g.LagP99, ThrottledMicroseconds: g.ThrottledMicroseconds,
		GCPauseMicroseconds: g.GCPauseMicroseconds, CPUSeconds: g.CPUSeconds,
		Connects: c.Connects, Reconnects: c.Reconnects, Resumed: c.Resumed, EarlyData: c.EarlyData,
	}
}

// started is when a runner that was there at the start began, in the common clock, if that is known.
func started(s *runnerv1alpha1.Snapshot, offsets map[Runner]int64) (int64, bool) {
	offset, known := offsets[runnerOf(s)]
	return s.StartedAt + offset, known && s.StartedAt != 0 && joinedAt(s) == 0
}

// firstStart is when the first runner began.
func firstStart(snapshots []runnerv1alpha1.Snapshot, offsets map[Runner]int64) int64 {
	var first int64
	found := false
	for i := range snapshots {
		if at, ok := started(&snapshots[i], offsets); ok && (!found || at < first) {
			first, found = at, true
		}
	}
	return first
}
