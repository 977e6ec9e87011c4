package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// counts of runners. One that has done its work counts as ready.
func counts(f *run.Facts) v1alpha1.ShardCounts {
	out := v1alpha1.ShardCounts{Desired: int32(f.Shards())}
	if f.StartDecided() {
		out.Lost = int32(len(f.Lost()))
	}
	for i := range f.View.Shards {
		if sh := &f.View.Shards[i]; i < f.Shards() && sh.Ready() && !sh.Left {
			out.Ready++
		}
	}
	runners := runners(f)
	for i := range runners {
		r := &runners[i]
		switch {
		case r.State == stateLeft:
			out.Left++
		case r.State == stateJoining:
			out.Joining++
		case decide.Leaving(f, i):
			out.Leaving++
		}
		if problemOf(r) != problemNone {
			out.Unhealthy++
		}
	}
	return out
}

func skew(f *run.Facts) *int64 {
	waits := func(sh *shards.Shard) bool { return sh.Member && !sh.Started() }
	if f.Report == nil || len(f.View.Shards) == 0 || f.View.Count(waits) > 0 {
		return nil
	}
	skew := f.Report.Generator.StartSkewMicroseconds
	return &skew
}

// runners has an entry for each shard of which anything is known.
func runners(f *run.Facts) []v1alpha1.RunnerStatus {
	var out []v1alpha1.RunnerStatus
	for i := range f.View.Shards {
		member := slices.Contains(f.View.Members, i)
		out = append(out, runnerStatusOf(i, withRecord(f, i), member, f.StartDecided()))
	}
	return out
}

// withRecord returns what is known of a shard, with the loss as the record has it.
func withRecord(f *run.Facts, shard int) *shards.Shard {
	seen := f.View.Shards[shard]
	if rec := f.Record.Find(shard, f.PodOf(shard, &seen)); seen.Lost != nil && rec != nil && rec.Loss != nil {
		seen.Lost = run.LossOf(rec)
	}
	return &seen
}

// States of a runner that no runner reports.
const (
	stateLost    = "Lost"
	stateLeft    = "Left"
	stateJoining = "Joining"
)

func runnerStatusOf(shard int, sh *shards.Shard, member, begun bool) v1alpha1.RunnerStatus {
	out := v1alpha1.RunnerStatus{Shard: int32(shard), Pod: sh.Pod.Name, Node: sh.Pod.Node, Member: member}
	if snap := sh.Snapshot; snap != nil {
		out.State, out.Message = string(snap.State), shorten.To(snap.Message, 1024)
		out.CPUs, out.Exclusive = joinInts(snap.Generator.CPUs), snap.Generator.Exclusive
		out.LagP99Microseconds, out.ThrottledMicroseconds = snap.Generator.LagP99, snap.Generator.ThrottledMicroseconds
	}
	switch {
	case sh.Lost != nil:
		out.State, out.Message = stateLost, shorten.To(sh.Lost.Message, 1024)
		out.Pod, out.Node = cmp.Or(sh.Lost.Pod, out.Pod), cmp.Or(sh.Lost.Node, out.Node)
		if begun && !sh.Member {
			out.Message = "lost before it had a share of the load: " + out.Message
		}
		return out
	case sh.Left:
		out.State = stateLeft
	case begun && !sh.Member:
		out.State = stateJoining
	}
	if sh.Trouble != "" && sh.Snapshot != nil && !sh.Final() {
		out.Message = "the runner does not answer"
	}
	return out
}

func joinInts(n []int) string {
	var b strings.Builder
	for i, v := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(v))
	}
	return shorten.To(b.String(), 1024)
}

const (
	problemNone = iota
	problemLost
	problemMessage
	problemJoining
)

func problemOf(r *v1alpha1.RunnerStatus) int {
	switch {
	case r.State == stateLost:
		return problemLost
	case r.State == stateLeft:
		return problemNone
	case r.Message != "":
		return problemMessage
	case r.State == stateJoining:
		return problemJoining
	}
	return problemNone
}

// generatorOf sums up the health of the runners; nil: there are no runners.
func generatorOf(runners []v1alpha1.RunnerStatus) *v1alpha1.GeneratorStatus {
	if len(runners) == 0 {
		return nil
	}
	out := &v1alpha1.GeneratorStatus{}
	for i := range runners {
		r := &runners[i]
		if r.Exclusive && r.State != stateLeft {
			out.ExclusiveShards++
		}
		out.ThrottledMicroseconds += r.ThrottledMicroseconds
		if r.LagP99Microseconds > out.LagP99Microseconds {
			out.LagP99Microseconds, out.LagP99Shard = r.LagP99Microseconds, r.Shard
		}
	}
	return out
}
