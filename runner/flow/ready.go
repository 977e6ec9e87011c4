package flow

import (
	"github.com/h2surge/h2surge/internal/cacheline"
	"github.com/h2surge/h2surge/internal/ring"
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

// queues are ready steps by target, in the order in which they became ready. Targets that were followed come last: used is how many
// of the queues may have steps.
type queues struct {
	all  []ring.Ring[Ready]
	used int
}

func newQueues(planned, most int) queues {
	return queues{all: cacheline.Make[ring.Ring[Ready]](most), used: planned}
}

func (q *queues) push(r Ready) {
	if q.used <= int(r.Target) {
		q.used = int(r.Target) + 1
	}
	q.all[r.Target].Push(r)
}

// longest removes and returns the step that has been ready longest. The target is None if no step is ready.
func (q *queues) longest() (a chain.Activation, t int32) {
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
func (q *queues) any() (r Ready, ok bool) {
	for i := range q.all[:q.used] {
		if q.all[i].Len() > 0 {
			return q.all[i].Pop(), true
		}
	}
	return r, false
}

// len returns how many steps are ready.
func (q *queues) len() (n int) {
	for i := range q.all[:q.used] {
		n += q.all[i].Len()
	}
	return n
}

// Waiting returns how many steps wait for a slot of a schedule.
func (f *Flow) Waiting(schedule int) int { return f.ready[schedule].len() }

// Since returns when the first step became ready that waits for a slot of a schedule and for a target. It is never if none waits.
func (f *Flow) Since(schedule int, target int32) int64 {
	if q := &f.ready[schedule].all[target]; q.Len() > 0 {
		return q.Front().Since
	}
	return never
}

// Oldest returns when the first step became ready of those that wait for a slot of a schedule. It is never if none waits.
func (f *Flow) Oldest(schedule int) int64 {
	oldest := int64(never)
	for t := range f.ready[schedule].used {
		oldest = min(oldest, f.Since(schedule, int32(t)))
	}
	return oldest
}

// Drop aborts the instance of the first step that waits for a slot of a schedule and for a target. It returns false if it was
// aborted before.
func (f *Flow) Drop(schedule int, target int32, why string) bool {
	r := f.ready[schedule].all[target].Pop()
	was := f.all[r.Instance].aborted
	f.Abort(r.Instance, why)
	return was == ""
}

// PopLongest returns the step that has waited longest for a slot of a schedule. The target is None if none waits.
func (f *Flow) PopLongest(schedule int) (chain.Activation, int32) { return f.ready[schedule].longest() }

// Unslotted returns a ready step of a schedule that needs no slot. Its values are those of the slot that started the instance.
func (f *Flow) Unslotted(schedule int) (r Ready, ok bool) {
	for {
		if r, ok = f.ready[schedule].any(); !ok {
			return r, false
		}
		if f.all[r.Instance].aborted == "" {
			f.NumberLater(r.Instance)
			return r, true
		}
		f.drop(r.Instance)
	}
}

// Release lets the steps that wait for slots need none.
func (f *Flow) Release() {
	for i := range f.ready {
		for r, ok := f.ready[i].any(); ok; r, ok = f.ready[i].any() {
			f.unpaced.Push(r)
		}
	}
}

// HasUnpaced returns whether a step is ready that needs no slot. In a pause, those of the load wait for slots; see Release.
func (f *Flow) HasUnpaced(paused bool) bool {
	for f.unpaced.Len() > 0 {
		r := f.unpaced.Front()
		in := f.all[r.Instance]
		switch {
		case in.Stage < 0 || in.aborted == "" && !paused:
			return true
		case in.aborted != "":
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
func (f *Flow) wait(r Ready) { f.ready[f.scheduleOf[f.all[r.Instance].Chain]].push(r) }
