package chain

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// Wheel picks load chains in proportion to their weights, as evenly spread as whole numbers allow and
// always in the same order: each pick raises every chain by its weight and takes the highest,
// which pays back the sum. After a number of picks that is a multiple of the sum of weights,
// the proportions are exact.
type Wheel struct {
	// chains are indices into Program.Chains.
	chains  []int
	weights []int64
	credit  []int64
}

// NewWheel makes a wheel over the program's load chains.
func NewWheel(g *Program) *Wheel {
	w := &Wheel{}
	for i := range g.Chains {
		if c := &g.Chains[i]; c.Phase == rv.PhaseLoad {
			w.chains = append(w.chains, i)
			w.weights = append(w.weights, int64(c.Weight))
		}
	}
	w.credit = make([]int64, len(w.chains))
	return w
}

// Next picks a chain among those that may says yes to; nil means all. It returns -1 when none
// may.
func (w *Wheel) Next(may func(chain int) bool) int {
	if len(w.chains) == 1 && may == nil {
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
