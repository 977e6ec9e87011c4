package shard

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// maxOf bounds the residues of all shards together, each 8 bytes or some 7 characters of JSON.
// The first loss of 256 shards needs 256 x 255; each further one would multiply that again.
const maxOf = 1 << 17

// Redeal deals what the lost shards had out to the others and returns the others' new shares, in
// the order given; nil when none is left. lost are values of Share.Shard. All shares must stem
// from one Split or Redeal.
//
// Every slot, connection and value has exactly one owner again. The slots are dealt evenly as
// long as that needs at most maxOf residues; after that a share may have one residue more than
// another, 0.4 % of its load at most. What a survivor had it keeps, first connections and the
// order of values included; new values come behind them. Its new connections count on from its
// first, so connection numbers are no longer unique: which endpoints they go to is not balanced.
// Who ran setup and teardown is followed by the first that is left.
func Redeal(shares []runnerv1alpha1.Share, lost []int) []runnerv1alpha1.Share {
	var left, gone []runnerv1alpha1.Share
	for i := range shares {
		if slices.Contains(lost, shares[i].Shard) {
			gone = append(gone, shares[i])
		} else {
			left = append(left, clone(&shares[i]))
		}
	}
	if len(left) == 0 || len(gone) == 0 {
		return left
	}
	redealSlots(left, gone)
	for t := range left[0].Connections {
		redealCounts(left, gone, func(s *runnerv1alpha1.Share) *int { return &s.Connections[t] })
	}
	for c := range left[0].MaxInFlight {
		redealCounts(left, gone, func(s *runnerv1alpha1.Share) *int { return &s.MaxInFlight[c] })
	}
	for v := range left[0].Variables {
		redealValues(left, gone, v)
	}
	for i := range gone {
		left[0].Once = left[0].Once || gone[i].Once
	}
	return left
}

func redealSlots(left, gone []runnerv1alpha1.Share) {
	all := runnerv1alpha1.Slots{Of: gone[0].Slots.Of}
	for _, g := range gone {
		all.Residues = append(all.Residues, g.Slots.Residues...)
	}
	slices.Sort(all.Residues)
	factor := int64(len(left)) / gcd(int64(len(all.Residues)), int64(len(left)))
	if all.Of*factor > maxOf {
		factor = max(1, maxOf/all.Of)
	}
	for i := range left {
		left[i].Slots = refine(left[i].Slots, factor)
	}
	for _, r := range refine(all, factor).Residues {
		s := fewest(left)
		s.Residues = append(s.Residues, r)
	}
	for i := range left {
		slices.Sort(left[i].Slots.Residues)
	}
}

// fewest are the slots of the share that has the smallest part; in turn when all have the same.
func fewest(shares []runnerv1alpha1.Share) *runnerv1alpha1.Slots {
	least := &shares[0].Slots
	for i := range shares {
		if s := &shares[i].Slots; len(s.Residues) < len(least.Residues) {
			least = s
		}
	}
	return least
}

// redealCounts deals out what the lost shares had of one number.
func redealCounts(left, gone []runnerv1alpha1.Share, count func(*runnerv1alpha1.Share) *int) {
	var n int64
	for i := range gone {
		n += int64(*count(&gone[i]))
	}
	for i := range left {
		from, to := cut(n, len(left), i)
		*count(&left[i]) += int(to - from)
	}
}

func redealValues(left, gone []runnerv1alpha1.Share, variable int) {
	var all []runnerv1alpha1.Span
	for i := range gone {
		all = append(all, gone[i].Variables[variable]...)
	}
	if shared(left, all, variable) {
		return
	}
	for i := range left {
		from, to := cut(Values(all), len(left), i)
		left[i].Variables[variable] = append(left[i].Variables[variable], slice(all, from, to)...)
	}
}

// shared: there were fewer values than shards, so the survivors have them all already.
func shared(left []runnerv1alpha1.Share, spans []runnerv1alpha1.Span, variable int) bool {
	for i := range left {
		for _, a := range left[i].Variables[variable] {
			for _, b := range spans {
				if a.From < b.To && b.From < a.To {
					return true
				}
			}
		}
	}
	return false
}

func clone(s *runnerv1alpha1.Share) runnerv1alpha1.Share {
	out := *s
	out.Slots.Residues = slices.Clone(s.Slots.Residues)
	out.Connections = slices.Clone(s.Connections)
	out.FirstConnection = slices.Clone(s.FirstConnection)
	out.MaxInFlight = slices.Clone(s.MaxInFlight)
	out.Variables = make([][]runnerv1alpha1.Span, len(s.Variables))
	for i := range s.Variables {
		out.Variables[i] = slices.Clone(s.Variables[i])
	}
	return out
}
