package flow

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
)

// maxBegins is how many instances the worker starts for one slot, at most, until a step is ready for the slot. An
// instance has none if the conditions of all its steps are false, or if its first step is for another target.
const maxBegins = 16

// Longest returns the step that gets a slot of a schedule: the step that has been ready longest, or else the first step of a new
// instance. Measured is true in a measured stage. The target is None if there is no step.
func (f *Flow) Longest(schedule int, measured bool) (a chain.Activation, t int32) {
	for begins := 0; ; {
		if a, t = f.ready[schedule].longest(); t == None {
			c := f.roundRobins[schedule].Next(f.mayBegin)
			if begins++; c < 0 || begins > maxBegins {
				return a, None
			}
			if a, t = f.beginNext(c, measured); t != None {
				return a, t
			}
			continue
		}
		if f.all[a.Instance].aborted == "" {
			return a, t
		}
		f.drop(a.Instance)
	}
}

// Of is Longest for one target.
func (f *Flow) Of(schedule int, target int32, measured bool) (a chain.Activation, ok bool) {
	ready := &f.ready[schedule].all[target]
	for begins := 0; ; {
		if ready.Len() == 0 {
			c := f.nextFor(schedule, target)
			if begins++; c < 0 || begins > maxBegins {
				return a, false
			}
			if a, t := f.beginNext(c, measured); t != None {
				return a, true
			}
			continue
		}
		if a = ready.Pop().Activation; f.all[a.Instance].aborted == "" {
			return a, true
		}
		f.drop(a.Instance)
	}
}

// nextFor returns the chain of the next instance that begins with a request to a target, or -1.
func (f *Flow) nextFor(schedule int, target int32) int {
	if int(target) >= len(f.serves) {
		return -1 // no chain begins with a target that was followed
	}
	return f.roundRobins[schedule].Next(f.serves[target])
}

// BeginNext starts an instance of the next chain of a schedule. It returns its first step, if the step takes the slot at once;
// else the target is None, and PopLongest returns the steps of the first group. ok is false if no chain may start an instance.
func (f *Flow) BeginNext(schedule int, measured bool) (a chain.Activation, t int32, ok bool) {
	c := f.roundRobins[schedule].Next(f.mayBegin)
	if c < 0 {
		return a, None, false
	}
	a, t = f.beginNext(c, measured)
	return a, t, true
}

// beginNext starts an instance of a load chain. It returns its first step if the step takes the slot at once. Else it activates the
// first group, and the target is None.
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
	i := f.alloc()
	f.live[c]++
	in := f.all[i]
	in.Start(f.program, c, f.sources, f.wall)
	in.Cookies.Clear()
	in.Stage, in.outstanding, in.Repeated, in.begun, in.Measured, in.Late, in.aborted = 0, 0, 0, false, false, false, ""
	in.next, in.Began, in.SentAt, in.redirects = 0, f.now, f.now, in.redirects[:0]
	if f.numbered {
		in.next = f.number + maxBegins + 1
	}
	return i
}

func (f *Flow) alloc() int32 {
	if n := len(f.idle); n > 0 {
		i := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return i
	}
	f.all = append(f.all, &Instance{})
	return int32(len(f.all) - 1)
}

// beginsDirect returns whether the first step of a chain has no condition, no parallel steps, and the target of the chain. It then takes
// the slot of its instance at once.
func beginsDirect(p *chain.Program, c int) bool {
	first := &p.Steps[p.Chains[c].First]
	return len(first.When) == 0 && first.GroupEnd == p.Chains[c].First+1 && !first.BeginsWithURI && !first.HasAuthority
}

// most returns how many instances of a chain the worker may have at a time, or 0 if there is no bound.
func (f *Flow) most(c int) int {
	if len(f.maxInFlight) == 0 {
		return 0
	}
	return f.maxInFlight[c]
}

// chainMayBegin returns true if an instance of a chain may start now.
func (f *Flow) chainMayBegin(c int) bool {
	most := f.most(c)
	return (most == 0 || f.live[c] < most) && f.now >= f.startAt+f.program.Chains[c].Delay && !f.chainEnded(c)
}

// chainEnded returns true if a variable of the chain has no more values.
func (f *Flow) chainEnded(c int) bool { return f.program.Chains[c].Ends && f.sources.Ended(c) }

// Exhausted returns true if no chain of a schedule can start an instance again, because each uses a variable that has no
// more values.
func (f *Flow) Exhausted(schedule int) bool {
	if f.mayBegin == nil {
		return false
	}
	for _, c := range f.roundRobins[schedule].Chains() {
		if !f.chainEnded(c) {
			return false
		}
	}
	return true
}

// Live returns whether an instance of a chain of a schedule has not ended.
func (f *Flow) Live(schedule int) bool {
	for _, c := range f.roundRobins[schedule].Chains() {
		if f.live[c] > 0 {
			return true
		}
	}
	return false
}

// Unfinished returns the number of instances of load chains that have not ended.
func (f *Flow) Unfinished() (n int64) {
	for i := range f.program.Chains {
		if f.program.Chains[i].Phase == rv.PhaseLoad {
			n += int64(f.live[i])
		}
	}
	return n
}

// NoStart returns why no instance could start for a slot of a schedule.
func (f *Flow) NoStart(schedule int) failure.Cause {
	for _, i := range f.roundRobins[schedule].Chains() {
		if most := f.most(i); most > 0 && f.live[i] >= most {
			return failure.Cause{Kind: rv.CauseMaxInFlight, Detail: f.program.Chains[i].Name}
		}
	}
	return failure.Cause{Kind: rv.CauseNoChain}
}

// CanBegin returns whether a chain of a schedule may start an instance that begins with a request to a target.
func (f *Flow) CanBegin(schedule int, target int32) bool {
	if int(target) >= len(f.serves) {
		return false
	}
	for _, c := range f.roundRobins[schedule].Chains() {
		if f.serves[target](c) {
			return true
		}
	}
	return false
}
