package shard

import (
	"sort"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Nth is the index, in the whole stage, of the j-th slot (from 0) of the owner of s.
func Nth(s runnerv1alpha1.Slots, j int64) int64 {
	n := int64(len(s.Residues))
	return j/n*s.Of + s.Residues[j%n]
}

// CountBelow is how many slots of the owner of s have an index below n. It inverts Nth:
// CountBelow(s, Nth(s, j)) is j. For a stage bounded by n requests it is the owner's part. Without
// residues it is zero.
func CountBelow(s runnerv1alpha1.Slots, n int64) int64 {
	if n <= 0 || len(s.Residues) == 0 {
		return 0
	}
	within := sort.Search(len(s.Residues), func(i int) bool { return s.Residues[i] >= n%s.Of })
	return n/s.Of*int64(len(s.Residues)) + int64(within)
}

// Valid says whether s can be used: Of positive, at least one residue, sorted, each in range
// and none twice.
func Valid(s runnerv1alpha1.Slots) bool {
	if s.Of < 1 || len(s.Residues) == 0 || s.Residues[0] < 0 || s.Residues[len(s.Residues)-1] >= s.Of {
		return false
	}
	for i := 1; i < len(s.Residues); i++ {
		if s.Residues[i-1] >= s.Residues[i] {
			return false
		}
	}
	return true
}

// refine writes the same slots with factor times as many residues.
func refine(s runnerv1alpha1.Slots, factor int64) runnerv1alpha1.Slots {
	n := int64(len(s.Residues)) * factor
	out := runnerv1alpha1.Slots{Of: s.Of * factor, Residues: make([]int64, 0, n)}
	for j := range n {
		out.Residues = append(out.Residues, Nth(s, j))
	}
	return out
}

// deal gives slot j of s to owner j modulo n: one entry for each owner, of which some are without a
// residue when s has fewer than n.
func deal(s runnerv1alpha1.Slots, n int) []runnerv1alpha1.Slots {
	out := make([]runnerv1alpha1.Slots, n)
	for i := range out {
		out[i].Of = s.Of
	}
	for j, r := range s.Residues {
		out[j%n].Residues = append(out[j%n].Residues, r)
	}
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
