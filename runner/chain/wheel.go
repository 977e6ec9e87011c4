package chain

// Wheel picks chains in proportion to their weights, as evenly spread as whole numbers allow and
// always in the same order: each pick raises every chain by its weight and takes the highest,
// which pays back the sum. After a number of picks that is a multiple of the sum of weights,
// the proportions are exact.
type Wheel struct {
	weights []int64
	credit  []int64
	sum     int64
}

// NewWheel makes a wheel over the program's chains.
func NewWheel(g *Program) *Wheel {
	w := &Wheel{credit: make([]int64, len(g.Chains))}
	for i := range g.Chains {
		w.weights = append(w.weights, int64(g.Chains[i].Weight))
		w.sum += int64(g.Chains[i].Weight)
	}
	return w
}

// Next picks a chain among those that may says yes to; nil means all. It returns -1 when none
// may.
func (w *Wheel) Next(may func(chain int) bool) int {
	if len(w.weights) == 1 && may == nil {
		return 0
	}
	best, sum := -1, int64(0)
	for i, weight := range w.weights {
		if may != nil && !may(i) {
			continue
		}
		w.credit[i] += weight
		sum += weight
		if best < 0 || w.credit[i] > w.credit[best] {
			best = i
		}
	}
	if best >= 0 {
		w.credit[best] -= sum
	}
	return best
}
