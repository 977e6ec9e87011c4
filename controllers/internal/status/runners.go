package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/decide"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/controllers/internal/shards"
	"github.com/h2surge/h2surge/controllers/internal/shorten"
)

// counts of runners. One that has done its work counts as ready.
func counts(f *run.Facts, runners []v1alpha1.RunnerStatus) v1alpha1.ShardCounts {
	out := v1alpha1.ShardCounts{Desired: int32(f.Shards())}
	if f.StartDecided() {
		out.Lost = int32(len(f.Lost()))
	}
	for i := range f.View.Shards {
		if sh := &f.View.Shards[i]; i < f.Shards() && sh.Ready() && !sh.Left {
			out.Ready++
		}
	}
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

func skew(view *shards.View, report *runnerv1alpha1.Report) *int64 {
	waits := func(sh *shards.Shard) bool { return sh.Member && !sh.Started() }
	if len(view.Shards) == 0 || view.Count(waits) > 0 {
		return nil
	}
	return new(report.Generator.StartSkewMicroseconds)
}

// runners has an entry for each shard of which anything is known.
func runners(rec *record.Record, view *shards.View) (out []v1alpha1.RunnerStatus) {
	for i, seen := range view.Shards {
		if ended := rec.Find(i, run.PodOf(rec, i, &seen)); seen.Lost != nil && ended != nil && ended.Loss != nil {
			seen.Lost, seen.Pod.Name, seen.Pod.Node = ended.Loss, cmp.Or(ended.Name, seen.Pod.Name),
				cmp.Or(ended.Node, seen.Pod.Node)
		}
		out = append(out, runnerStatusOf(i, &seen, slices.Contains(view.Members, i), rec.Start != nil))
	}
	return out
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
		out.LagP99Microseconds = max(out.LagP99Microseconds, r.LagP99Microseconds)
	}
	return out
}
