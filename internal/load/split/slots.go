package split

import (
	"sort"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Nth returns the index in the stage of the owner's slot number j, from 0. For example, if an owner has residue 2 of 4,
// its slots 0, 1 and 2 are the slots 2, 6 and 10 of the stage.
func Nth(s runnerv1alpha1.Slots, j int64) int64 {
	n := int64(len(s.Residues))
	return j/n*s.Of + s.Residues[j%n]
}

// CountBelow returns how many slots of the owner have an index below n. It is the inverse of Nth:
// CountBelow(s, Nth(s, j)) is j. It is the owner's share of a stage of n requests, and 0 without residues.
func CountBelow(s runnerv1alpha1.Slots, n int64) int64 {
	if n <= 0 || len(s.Residues) == 0 {
		return 0
	}
	within := sort.Search(len(s.Residues), func(i int) bool { return s.Residues[i] >= n%s.Of })
	return n/s.Of*int64(len(s.Residues)) + int64(within)
}

// Valid reports whether s can be used: Of is positive, and there is at least one residue. The residues are sorted,
// different and in [0, Of).
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

// refine returns the same slots, written with factor times as many residues. For example, residue 1 of 2 with factor 2
// is residues 1 and 3 of 4.
func refine(s runnerv1alpha1.Slots, factor int64) runnerv1alpha1.Slots {
	n := int64(len(s.Residues)) * factor
	out := runnerv1alpha1.Slots{Of: s.Of * factor, Residues: make([]int64, 0, n)}
	for j := range n {
		out.Residues = append(out.Residues, Nth(s, j))
	}
	return out
}

// distribute gives residue j of s to owner j modulo n. The result has one entry for each owner. If s has fewer than n
// residues, the last owners have none.
func distribute(s runnerv1alpha1.Slots, n int) []runnerv1alpha1.Slots {
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
