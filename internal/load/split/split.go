package split

import (
	"errors"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// MaxShards is the maximum number of shards of a LoadTest.
const MaxShards = 256

// Split distributes the plan over the shards 0 to shards-1; see Distribute.
func Split(plan *runnerv1alpha1.Plan, shards int) ([]runnerv1alpha1.Share, error) {
	if shards < 1 || shards > MaxShards {
		return nil, fmt.Errorf("%d shards: must be from 1 to %d", shards, MaxShards)
	}
	return Distribute(plan, All(shards))
}

// All returns the numbers of n shards: 0 to n-1.
func All(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Distribute returns the share of each member, in the order of members. Members are numbers of shards: sorted,
// different and in [0, MaxShards). The shares depend only on the plan and the members, so that operators and runners
// compute the same shares. The first member runs setup and teardown. Each member has a connection to each target, even
// if the plan has fewer connections than members.
// Distribute returns an error if members is invalid, or if a chain has a maxInFlight below the number of members: a
// share of 0 instances would mean that the chain has no limit.
func Distribute(plan *runnerv1alpha1.Plan, members []int) ([]runnerv1alpha1.Share, error) {
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

// Whole returns the share of a test with one shard.
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

// MaxWorkers returns how many workers a share can have, at least 1. Each worker needs a connection to each target that
// requests are sent to, and an instance of each chain with a maxInFlight.
func MaxWorkers(share *runnerv1alpha1.Share, sentTo map[int]bool) int {
	n := MaxShards
	for t, c := range share.Connections {
		if sentTo[t] {
			n = min(n, c)
		}
	}
	for _, c := range share.MaxInFlight {
		if c > 0 {
			n = min(n, c)
		}
	}
	return max(n, 1)
}

// Workers distributes a share over the n workers of a process: slot j of the share belongs to worker j modulo n.
// Shard and Shards are those of the share. n must be from 1 to MaxWorkers: with more, some workers would have no
// connection to a target of requests, or no limit of a chain that has one. Worker 0 runs setup and teardown, if the
// share does.
func Workers(share *runnerv1alpha1.Share, n int) []runnerv1alpha1.Share {
	out := divide(share, n)
	for i := range out {
		out[i].Shard, out[i].Shards = share.Shard, share.Shards
	}
	return out
}

// divide distributes slots, connections, instances and values of a share over n owners.
func divide(share *runnerv1alpha1.Share, n int) []runnerv1alpha1.Share {
	residues := int64(len(share.Slots.Residues))
	slots := distribute(refine(share.Slots, int64(n)/gcd(residues, int64(n))), n)
	out := make([]runnerv1alpha1.Share, n)
	for i := range out {
		out[i].Slots = slots[i]
		for t, c := range share.Connections {
			from, to := block(int64(c), n, i)
			out[i].Connections = append(out[i].Connections, int(to-from))
			out[i].FirstConnection = append(out[i].FirstConnection, share.FirstConnection[t]+int(from))
		}
		for _, c := range share.MaxInFlight {
			from, to := block(int64(c), n, i)
			out[i].MaxInFlight = append(out[i].MaxInFlight, int(to-from))
		}
		out[i].Once = share.Once && i == 0
		for _, spans := range share.Variables {
			out[i].Variables = append(out[i].Variables, values(spans, n, i))
		}
	}
	return out
}

// block returns the i-th of n blocks of [0, total). The lengths of the blocks differ by at most one; the longer blocks
// come first. For example, 5 in 2 blocks is [0, 3) and [3, 5).
func block(total int64, n, i int) (from, to int64) {
	at := func(k int64) int64 { return k*(total/int64(n)) + min(k, total%int64(n)) }
	return at(int64(i)), at(int64(i) + 1)
}

// values returns the values of owner i in spans, or all values if there are fewer than n.
func values(spans []runnerv1alpha1.Span, n, i int) []runnerv1alpha1.Span {
	total := Values(spans)
	if total < int64(n) {
		return append([]runnerv1alpha1.Span(nil), spans...)
	}
	from, to := block(total, n, i)
	return slice(spans, from, to)
}

// Values returns the number of values in spans.
func Values(spans []runnerv1alpha1.Span) int64 {
	var n int64
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}

// slice returns the values from number from up to number to, exclusive.
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
