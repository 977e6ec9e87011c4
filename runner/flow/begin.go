package flow

import "github.com/h2surge/h2surge/runner/chain"

// maxBegins is how many instances the worker starts for one slot, at most, until a step is ready for the slot. An
// instance has none if the conditions of all its steps are false, or if its first step is for another target.
const maxBegins = 16

// Longest returns the step that gets a slot of a schedule: the step that has been ready longest, or else the first step
// of a new instance. Measured is true in a measured stage. The target is None if there is no step.
func (f *Flow) Longest(schedule int, measured bool) (a chain.Activation, t int32) {
	for begins := 0; ; {
		if a, t = f.waiting[schedule].Longest(); t == None {
			c := f.choose(schedule)
			if begins++; c < 0 || begins > maxBegins {
				return a, None
			}
			if a, t = f.beginNext(c, measured); t != None {
				return a, t
			}
			continue
		}
		if !f.all[a.Instance].stale() {
			return a, t
		}
		f.drop(a.Instance)
	}
}

// Of is Longest for one target.
func (f *Flow) Of(schedule int, target int32, measured bool) (a chain.Activation, ok bool) {
	ready := &f.waiting[schedule].all[target]
	for begins := 0; ; {
		if ready.Len() == 0 {
			c := f.chooseFor(schedule, target)
			if begins++; c < 0 || begins > maxBegins {
				return a, false
			}
			if a, t := f.beginNext(c, measured); t != None {
				return a, true
			}
			continue
		}
		if a = ready.Pop().Activation; !f.all[a.Instance].stale() {
			return a, true
		}
		f.drop(a.Instance)
	}
}

// BeginNext starts an instance of the next chain of a schedule. It returns its first step, if the step takes the slot
// at once; else the target is None, and Waiting has the steps of the first group. ok is false if no chain may start an
// instance.
func (f *Flow) BeginNext(schedule int, measured bool) (a chain.Activation, t int32, ok bool) {
	c := f.choose(schedule)
	if c < 0 {
		return a, None, false
	}
	a, t = f.beginNext(c, measured)
	return a, t, true
}

// beginNext starts an instance of a load chain. It returns its first step if the step takes the slot at once. Else it
// activates the first group, and the target is None.
func (f *Flow) beginNext(c int, measured bool) (a chain.Activation, t int32) {
	i := f.begin(c)
	in := f.all[i]
	if measured {
		in.Measured = true
		f.host.ChainBegan(c)
	}
	if !f.direct[c] {
		f.proceed(i)
		return a, None
	}
	in.outstanding = 1
	return chain.Activation{Instance: i, Step: int32(f.program.Chains[c].First)}, int32(f.program.Chains[c].Target)
}

// begin returns a new instance of a chain.
func (f *Flow) begin(c int) int32 {
	i := f.take()
	in, next := f.all[i], int64(0)
	if f.numbered {
		next = f.number + maxBegins + 1
	}
	f.live[c]++
	if plain := in.Start(f.program, c, f.sources, f.wall); !plain || f.numbered {
		in.forget(next)
	}
	in.begin(f.now, f.program.Chains[c].Always == 0)
	return i
}

// beginsDirect returns whether the first step of a chain has no condition, no parallel steps, and the target of the
// chain. It then takes the slot of its instance at once.
func beginsDirect(p *chain.Program, c int) bool {
	first := &p.Steps[p.Chains[c].First]
	return len(first.When) == 0 && first.GroupEnd == p.Chains[c].First+1 && !first.BeginsWithURI && !first.HasAuthority
}
