package flow

import (
	"slices"

	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/cacheline"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/pace"
)

const (
	// None is no target.
	None int32 = -1
	// never is an instant that does not come.
	never = pace.Never
)

// Ready is an activation that waits for a slot, or for the worker if it needs none.
type Ready struct {
	chain.Activation
	Target int32
	Since  int64
}

// Queues are ready steps by target, in the order in which they became ready. Targets that were followed come last: used
// is how many of the queues may have steps.
type Queues struct {
	all  []ring.Ring[Ready]
	used int
}

func newQueues(planned, most int) Queues {
	return Queues{all: cacheline.Make[ring.Ring[Ready]](most), used: planned}
}

func (q *Queues) push(r Ready) {
	if q.used <= int(r.Target) {
		q.used = int(r.Target) + 1
	}
	q.all[r.Target].Push(r)
}

// Longest removes and returns the step that has been ready longest. The target is None if no step is ready.
func (q *Queues) Longest() (a chain.Activation, t int32) {
	best := None
	for i := range q.all[:q.used] {
		if of := &q.all[i]; of.Len() > 0 && (best == None || of.Front().Since < q.all[best].Front().Since) {
			best = int32(i)
		}
	}
	if best == None {
		return a, None
	}
	return q.all[best].Pop().Activation, best
}

// any removes and returns a step.
func (q *Queues) any() (r Ready, ok bool) {
	for i := range q.all[:q.used] {
		if q.all[i].Len() > 0 {
			return q.all[i].Pop(), true
		}
	}
	return r, false
}

// Len returns how many steps are ready.
func (q *Queues) Len() (n int) {
	for i := range q.all[:q.used] {
		n += q.all[i].Len()
	}
	return n
}

// Since returns when the first step became ready that waits for a target. It is never if none waits.
func (q *Queues) Since(target int32) int64 {
	if of := &q.all[target]; of.Len() > 0 {
		return of.Front().Since
	}
	return never
}

// Oldest returns when the first step became ready. It is never if none waits.
func (q *Queues) Oldest() int64 {
	oldest := int64(never)
	for t := range q.used {
		oldest = min(oldest, q.Since(int32(t)))
	}
	return oldest
}

// Waiting returns the steps that wait for a slot of a schedule.
func (f *Flow) Waiting(schedule int) *Queues { return &f.waiting[schedule] }

// Drop aborts the instance of the first step that waits for a slot of a schedule and for a target. It returns false if
// it was aborted before.
func (f *Flow) Drop(schedule int, target int32, why string) bool {
	r := f.waiting[schedule].all[target].Pop()
	was := f.all[r.Instance].stale()
	f.Abort(r.Instance, why)
	return !was
}

// Unslotted returns a ready step of a schedule that needs no slot. Its values are those of the slot that started the
// instance.
func (f *Flow) Unslotted(schedule int) (r Ready, ok bool) {
	for {
		if r, ok = f.waiting[schedule].any(); !ok {
			return r, false
		}
		if !f.all[r.Instance].stale() {
			f.NumberLater(r.Instance)
			return r, true
		}
		f.drop(r.Instance)
	}
}

// WaitsForSlot returns whether a step waits for a slot.
func (f *Flow) WaitsForSlot() bool {
	return slices.ContainsFunc(f.waiting, func(q Queues) bool { return q.Len() > 0 })
}

// Release lets the steps that wait for slots need none. They wait for streams from now on.
func (f *Flow) Release() {
	for i := range f.waiting {
		for r, ok := f.waiting[i].any(); ok; r, ok = f.waiting[i].any() {
			r.Since = f.now
			f.unpaced.Push(r)
		}
	}
}

// HasUnpaced returns whether a step is ready that needs no slot. In a pause, and when the time after the load has
// passed, those of the load wait for slots; see Release and Within.
func (f *Flow) HasUnpaced(paused bool) bool {
	waits := paused || f.now >= f.until
	for f.unpaced.Len() > 0 {
		r := f.unpaced.Front()
		in := f.all[r.Instance]
		switch {
		case in.Stage < 0 || !in.stale() && !waits:
			return true
		case in.stale():
			f.unpaced.Pop()
			f.drop(r.Instance)
		default:
			f.wait(f.unpaced.Pop())
		}
	}
	return false
}

// Unpaced removes and returns the first step that is ready and needs no slot.
func (f *Flow) Unpaced() Ready {
	r := f.unpaced.Pop()
	if in := f.all[r.Instance]; in.Stage >= 0 {
		in.Late = true
		f.NumberLater(r.Instance)
	}
	return r
}

// wait lets a ready step wait for a slot of the schedule of its chain.
func (f *Flow) wait(r Ready) { f.waiting[f.scheduleOf[f.all[r.Instance].Chain]].push(r) }
