package chain

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/cacheline"
)

// WeightedRoundRobin picks load chains in proportion to their weights, evenly spread and always in the same order. Each
// pick adds its weight to every chain's credit, picks the chain with the highest credit, and subtracts the sum of all
// weights from it. After a multiple of the sum of weights, the proportions are exact. With the weights 2 and 1, the
// order is 0, 1, 0.
type WeightedRoundRobin struct {
	// chains are indices into Program.Chains.
	chains  []int
	weights []int64
	credit  []int64
}

// NewWeightedRoundRobin starts with those load chains of a program for which includes returns true, or with all if it
// is nil.
func NewWeightedRoundRobin(g *Program, includes func(*Chain) bool) *WeightedRoundRobin {
	w := &WeightedRoundRobin{}
	for i := range g.Chains {
		if c := &g.Chains[i]; c.Phase == rv.PhaseLoad && (includes == nil || includes(c)) {
			w.chains = append(w.chains, i)
			w.weights = append(w.weights, int64(c.Weight))
		}
	}
	w.credit = cacheline.Make[int64](len(w.chains))
	return w
}

// Next picks a chain among those for which may returns true, or among all if may is nil. Without such a chain it
// returns -1.
func (w *WeightedRoundRobin) Next(may func(chain int) bool) int {
	if len(w.chains) == 1 && (may == nil || may(w.chains[0])) { // the credit would stay zero
		return w.chains[0]
	}
	best, sum := -1, int64(0)
	for i, weight := range w.weights {
		if may != nil && !may(w.chains[i]) {
			continue
		}
		w.credit[i] += weight
		sum += weight
		if best < 0 || w.credit[i] > w.credit[best] {
			best = i
		}
	}
	if best < 0 {
		return -1
	}
	w.credit[best] -= sum
	return w.chains[best]
}

// Chains returns the chains, as indices into Program.Chains. The caller must not change them.
func (w *WeightedRoundRobin) Chains() []int { return w.chains }
