package flow

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/dueheap"
	"github.com/h2surge/h2surge/runner/chain"
)

// Within sets when the last request may be sent after the load. It is never while this is not known. A pause that would
// end later is left out: the instance sends its always steps now. Chains without always steps keep their pauses.
func (f *Flow) Within(until int64) {
	if f.until == until {
		return
	}
	f.until = until
	all := f.sleepers
	f.sleepers = dueheap.Heap[chain.Activation]{}
	var now []chain.Activation
	for a, at := range all.All() {
		if at > until && f.hurry(a) {
			now = append(now, a)
		} else {
			f.sleepers.Push(a, at)
		}
	}
	for _, a := range now {
		f.makeReady(a)
	}
}

// hurry returns whether the pause before a step must be left out for the always steps of the chain. If the step is not
// one of them, it aborts the instance.
func (f *Flow) hurry(a chain.Activation) bool {
	in := f.all[a.Instance]
	c := &f.program.Chains[in.Chain]
	if in.Stage < 0 || c.Always == c.Len {
		return false
	}
	if !in.always {
		in.abort(rv.AbortStopped)
	}
	return true
}

// FollowsAbort returns whether an activation is that of an always step of an aborted instance. It is true for the first
// of all attempts only, so that each step counts once.
func (f *Flow) FollowsAbort(a chain.Activation) bool {
	in := f.all[a.Instance]
	return in.aborted != "" && in.always && a.Attempt == 0 && a.Hop == 0 && in.Repeated == 0
}
