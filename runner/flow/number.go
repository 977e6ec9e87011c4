package flow

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
)

// Numbered returns whether the values that occur once in the test follow from the numbers of slots.
func (f *Flow) Numbered() bool { return f.numbered }

// Number sets the number that the next request with a slot draws from.
func (f *Flow) Number(n int64) {
	f.number = n
	f.sources.Slot(n)
}

// NumberLater sets the numbers that a request without a slot draws from. They belong to the slot that started the
// instance.
func (f *Flow) NumberLater(i int32) {
	if f.numbered {
		f.sources.Slot(f.all[i].nextNumber())
	}
}

// ValuesPerSlot returns how many values of a variable one slot can draw, at most. If unslotted is true, steps may be
// sent without a slot, and draw from the numbers of the slot that started their instance.
func ValuesPerSlot(p *chain.Program, unslotted bool) (n int64) {
	n = 1
	for i := range p.Chains {
		c := &p.Chains[i]
		switch {
		case c.Phase != rv.PhaseLoad:
		case unslotted:
			n = max(n, maxBegins+1+mostRequests(p, c))
		case !beginsDirect(p, i):
			n = max(n, maxBegins+1)
		}
	}
	return n
}

// mostRequests returns how many requests an instance sends, at most.
func mostRequests(p *chain.Program, c *chain.Chain) (n int64) {
	for i := range p.Steps[c.First : c.First+c.Len] {
		s := &p.Steps[c.First+i]
		n += int64(max(s.Repeat, 1)) * int64(s.Retries+1) * int64(s.MaxRedirects+1)
	}
	return n
}
