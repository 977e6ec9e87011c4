package result

import (
	"fmt"
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// shards has one entry for each shard that is known of, in their order; several processes of one shard
// have one each.
func shards(snapshots []runnerv1alpha1.Snapshot, lost []int, offsets map[int]int64) ([]runnerv1alpha1.ShardResult, error) {
	var out []runnerv1alpha1.ShardResult
	var first int64
	for i := range snapshots {
		if at, ok := started(&snapshots[i], offsets); ok && (first == 0 || at < first) {
			first = at
		}
	}
	silent := slices.Clone(lost)
	for i := range snapshots {
		s := &snapshots[i]
		one, err := shardResult(s)
		if err != nil {
			return nil, fmt.Errorf("snapshot of shard %d: response time: %w", s.Shard, err)
		}
		one.Lost = slices.Contains(lost, s.Shard)
		if at, ok := started(s, offsets); ok {
			one.StartSkewMicroseconds = (at - first) / int64(time.Microsecond)
		}
		out = append(out, one)
		silent = slices.DeleteFunc(silent, func(shard int) bool { return shard == s.Shard })
	}
	for _, shard := range silent {
		out = append(out, runnerv1alpha1.ShardResult{Shard: shard, Lost: true})
	}
	slices.SortStableFunc(out, func(a, b runnerv1alpha1.ShardResult) int { return a.Shard - b.Shard })
	return out, nil
}

func shardResult(s *runnerv1alpha1.Snapshot) (runnerv1alpha1.ShardResult, error) {
	h, err := histogram.Decode(s.ResponseTime)
	if err != nil {
		return runnerv1alpha1.ShardResult{}, err
	}
	g, c := &s.Generator, &s.Counters
	return runnerv1alpha1.ShardResult{
		Shard: s.Shard, Pod: g.Pod, Node: g.Node, Workers: g.Workers, CPUs: g.CPUs, Exclusive: g.Exclusive,
		Sent: c.Sent, Succeeded: c.Succeeded, Dropped: c.Dropped, ResponseTime: h.Times(),
		LagP99Microseconds: g.LagP99, ThrottledMicroseconds: g.ThrottledMicroseconds,
		GCPauseMicroseconds: g.GCPauseMicroseconds, CPUSeconds: g.CPUSeconds,
		Connects: c.Connects, Reconnects: c.Reconnects,
	}, nil
}

// started is when a shard began, in the common clock, if that is known.
func started(s *runnerv1alpha1.Snapshot, offsets map[int]int64) (int64, bool) {
	offset, known := offsets[s.Shard]
	return s.StartedAt + offset, known && s.StartedAt != 0
}
