package flow

import "github.com/h2surge/h2surge/runner/chain"

// sleeper is an activation in a pause. It becomes ready at an instant.
type sleeper struct {
	at int64
	chain.Activation
}

// Wake makes the steps ready whose pauses are over.
func (f *Flow) Wake(now int64) {
	f.fresh = false
	for f.sleepers.next() <= now {
		f.makeReady(f.sleepers.pop().Activation)
	}
}

// Next returns when the next pause ends, or now if a step needs no slot and has become ready since the last call of
// Wake.
func (f *Flow) Next() int64 {
	if f.fresh {
		return f.now
	}
	return f.sleepers.next()
}

// Sleeps returns whether a step is in a pause.
func (f *Flow) Sleeps() bool { return len(f.sleepers) > 0 }

// sleepers is a binary heap of the steps in a pause, with the first that becomes ready at the top.
type sleepers []sleeper

func (h *sleepers) push(v sleeper) {
	*h = append(*h, v)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up].at <= a[i].at {
			return
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *sleepers) pop() sleeper {
	a := *h
	top := a[0]
	last := len(a) - 1
	a[0] = a[last]
	*h = a[:last]
	a = *h
	for i := 0; ; {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < len(a) && a[k].at < a[least].at {
				least = k
			}
		}
		if least == i {
			return top
		}
		a[least], a[i] = a[i], a[least]
		i = least
	}
}

// next returns when the first becomes ready, or never.
func (h sleepers) next() int64 {
	if len(h) == 0 {
		return never
	}
	return h[0].at
}
