package shard

import (
	"errors"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// MaxShards is the greatest number of shards of a LoadTest.
const MaxShards = 256

// Split deals the plan out to the shards 0 to shards-1; see Deal.
func Split(plan *runnerv1alpha1.Plan, shards int) ([]runnerv1alpha1.Share, error) {
	if shards < 1 || shards > MaxShards {
		return nil, fmt.Errorf("%d shards: must be from 1 to %d", shards, MaxShards)
	}
	return Deal(plan, All(shards))
}

// All are the n shards that a test starts with, from 0 on.
func All(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Deal deals the plan out to the shards that are there, in the order given; they are sorted, distinct
// and in [0, MaxShards). What each of them gets follows from the plan and from who the others are, and
// from nothing that was before, so that whoever deals comes to the same. The first runs setup and
// teardown. Each has a connection to each target, also where the plan has fewer than there are members.
// It fails when the members are not as said, or when a bounded chain may have fewer instances than there
// are members: a share of none cannot be told from no bound.
func Deal(plan *runnerv1alpha1.Plan, members []int) ([]runnerv1alpha1.Share, error) {
	if err := valid(members); err != nil {
		return nil, err
	}
	n := len(members)
	for i := range plan.Chains {
		if c := &plan.Chains[i]; c.MaxInFlight != 0 && c.MaxInFlight < n {
			return nil, fmt.Errorf("chain %s has %d instances for %d shards: each shard needs one", c.Name, c.MaxInFlight, n)
		}
	}
	whole := Whole(plan)
	for t := range whole.Connections {
		whole.Connections[t] = max(whole.Connections[t], n)
	}
	out := divide(&whole, n)
	for i := range out {
		out[i].Shard, out[i].Shards = members[i], members[n-1]+1
	}
	return out, nil
}

func valid(members []int) error {
	if len(members) == 0 {
		return errors.New("at least one shard is required")
	}
	for i, m := range members {
		switch {
		case m < 0 || m >= MaxShards:
			return fmt.Errorf("shard %d: must be from 0 to %d", m, MaxShards-1)
		case i > 0 && m <= members[i-1]:
			return fmt.Errorf("shard %d follows %d: shards must be sorted, each once", m, members[i-1])
		}
	}
	return nil
}

// Whole is the share of a test with one shard.
func Whole(plan *runnerv1alpha1.Plan) runnerv1alpha1.Share {
	s := runnerv1alpha1.Share{
		Shards:          1,
		Slots:           runnerv1alpha1.Slots{Of: 1, Residues: []int64{0}},
		Connections:     make([]int, len(plan.Targets)),
		FirstConnection: make([]int, len(plan.Targets)),
		Once:            true,
	}
	for i := range plan.Targets {
		s.Connections[i] = plan.Targets[i].Connections
	}
	for i := range plan.Variables {
		var spans []runnerv1alpha1.Span
		if size := plan.Variables[i].Size(); size > 0 {
			spans = []runnerv1alpha1.Span{{To: size}}
		}
		s.Variables = append(s.Variables, spans)
	}
	for i := range plan.Chains {
		s.MaxInFlight = append(s.MaxInFlight, plan.Chains[i].MaxInFlight)
	}
	return s
}

// MaxWorkers is how many workers can work on a share: each needs a connection to each target, and
// an instance of each bounded chain. It is at least one.
func MaxWorkers(share *runnerv1alpha1.Share) int {
	n := MaxShards
	for _, c := range share.Connections {
		n = min(n, c)
	}
	for _, c := range share.MaxInFlight {
		if c > 0 {
			n = min(n, c)
		}
	}
	return max(n, 1)
}

// Workers deals a share out to the n workers of a process: the j-th slot of the share goes to
// worker j modulo n. Shard and Shards stay those of the share. With n above MaxWorkers some workers
// get no connection to some target, or no bound of a chain that has one, so the caller reduces n
// first. Worker 0 runs setup and teardown, if the share does. n must be positive.
func Workers(share *runnerv1alpha1.Share, n int) []runnerv1alpha1.Share {
	out := divide(share, n)
	for i := range out {
		out[i].Shard, out[i].Shards = share.Shard, share.Shards
	}
	return out
}

// divide deals everything of a share out to n owners.
func divide(share *runnerv1alpha1.Share, n int) []runnerv1alpha1.Share {
	residues := int64(len(share.Slots.Residues))
	slots := deal(refine(share.Slots, int64(n)/gcd(residues, int64(n))), n)
	out := make([]runnerv1alpha1.Share, n)
	for i := range out {
		out[i].Slots = slots[i]
		for t, c := range share.Connections {
			from, to := cut(int64(c), n, i)
			out[i].Connections = append(out[i].Connections, int(to-from))
			out[i].FirstConnection = append(out[i].FirstConnection, share.FirstConnection[t]+int(from))
		}
		for _, c := range share.MaxInFlight {
			from, to := cut(int64(c), n, i)
			out[i].MaxInFlight = append(out[i].MaxInFlight, int(to-from))
		}
		out[i].Once = share.Once && i == 0
		for _, spans := range share.Variables {
			out[i].Variables = append(out[i].Variables, part(spans, n, i))
		}
	}
	return out
}

// cut is the i-th of n runs of [0, total): their lengths differ by one at most, the longer ones
// first.
func cut(total int64, n, i int) (from, to int64) {
	at := func(k int64) int64 { return k*(total/int64(n)) + min(k, total%int64(n)) }
	return at(int64(i)), at(int64(i) + 1)
}

// part is owner i's part of the values in spans, or all of them when there are too few.
func part(spans []runnerv1alpha1.Span, n, i int) []runnerv1alpha1.Span {
	total := Values(spans)
	if total < int64(n) {
		return append([]runnerv1alpha1.Span(nil), spans...)
	}
	from, to := cut(total, n, i)
	return slice(spans, from, to)
}

// Values is the number of values in spans.
func Values(spans []runnerv1alpha1.Span) int64 {
	var n int64
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}

// slice takes the values from the from-th up to, without, the to-th.
func slice(spans []runnerv1alpha1.Span, from, to int64) []runnerv1alpha1.Span {
	var out []runnerv1alpha1.Span
	for _, s := range spans {
		size := s.To - s.From
		if low, high := max(from, 0), min(to, size); low < high {
			out = append(out, runnerv1alpha1.Span{From: s.From + low, To: s.From + high})
		}
		from, to = from-size, to-size
	}
	return out
}
