package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/slots"
)

// hasUnslotted returns whether steps are ready that need no slot and may be sent, in a stage of chainsPerSecond.
func (w *Worker) hasUnslotted() bool {
	if w.slots.Paused() || w.requests.InUse() >= maxWaiting {
		return false
	}
	all := w.slots.All()
	for i := range all {
		if all[i].StartsChains() && w.flow.Waiting(all[i].Index()) > 0 {
			return true
		}
	}
	return false
}

// pickUp assigns all slots that are due.
func (w *Worker) pickUp() {
	if !w.slots.Due(w.now) && !w.hasUnslotted() {
		return
	}
	w.slots.Take(w.now+1, w.now, w)
	if !w.cfg.Spin {
		w.slots.PickUpAgain(w.now + int64(w.cfg.SleepInterval))
	}
}

// Dropped counts slots of a stage that were due in a pause. It implements slots.Sink.
func (w *Worker) Dropped(stage int, n int64) {
	w.rec.DropPaused(stage, n)
}

// Slot gives slot n of the current stage of a schedule to the step that has been ready longest, or else to a new chain
// instance. It drops a slot that no chain may take, unless the values of the chains have ended. It implements slots.Sink.
func (w *Worker) Slot(s *slots.Schedule, n, due int64) {
	stage := s.PlanStage()
	w.rec.Slot(stage, due, w.now, w.slots.EarliestPickUp())
	if w.requests.InUse() >= maxWaiting {
		w.rec.Drop(stage, failure.Cause{Kind: rv.CauseMaxWaiting}, 1)
		return
	}
	starts := s.StartsChains()
	if starts {
		w.admitReady(s) // before the number of this slot, because ready steps have numbers of their own
	}
	w.number(s, n)
	if starts {
		w.startChain(s, due, int16(stage))
		return
	}
	a, t := w.flow.Longest(s.Index(), !s.InWarmUp())
	switch {
	case t != flow.None:
		w.requests.Wait(w.newRequest(a, t, due, int16(stage)))
	case !w.checkExhausted(s):
		w.rec.Drop(stage, w.flow.NoStart(s.Index()), 1)
	}
}

// startChain gives a slot to a new chain instance. All steps of its first group are due with the slot.
func (w *Worker) startChain(s *slots.Schedule, due int64, stage int16) {
	a, t, ok := w.flow.BeginNext(s.Index(), !s.InWarmUp())
	switch {
	case ok && t != flow.None:
		w.startRequest(a, t, due, stage, true)
	case ok:
		if !w.startGroup(s, due, stage) {
			w.rec.Started(int(stage), false) // without a request: its steps have false conditions, or were aborted
		}
	case !w.checkExhausted(s):
		w.rec.Drop(int(stage), w.flow.NoStart(s.Index()), 1)
	}
}

// startGroup makes requests of the first steps of the instance that has just started. It returns false if there are none.
func (w *Worker) startGroup(s *slots.Schedule, due int64, stage int16) (started bool) {
	for {
		a, t := w.flow.PopLongest(s.Index())
		switch {
		case t == flow.None:
			return started
		case started:
			w.flow.NumberLater(a.Instance)
		}
		w.startRequest(a, t, due, stage, !started)
		started = true
	}
}

// startRequest makes the request of a step of a chain instance that its slot has started.
func (w *Worker) startRequest(a chain.Activation, target int32, due int64, stage int16, first bool) {
	id := w.newRequest(a, target, due, stage)
	if first {
		w.requests.At(id).SetStarts()
	}
	w.requests.Wait(id)
}

// admitAllReady makes requests of all ready steps that need no slot.
func (w *Worker) admitAllReady() {
	for i := range w.slots.All() {
		if s := &w.slots.All()[i]; s.StartsChains() {
			w.admitReady(s)
		}
	}
}

// admitReady makes requests of all ready steps in a stage of chainsPerSecond. A step is due when it became ready. If it
// became ready before the stage or during a pause, it is due when the stage began or the load continued.
func (w *Worker) admitReady(s *slots.Schedule) {
	from, stage := w.slots.ReadySince(s), int16(s.PlanStage())
	for w.requests.InUse() < maxWaiting {
		step, ok := w.flow.Unslotted(s.Index())
		if !ok {
			return
		}
		w.requests.Wait(w.newRequest(step.Activation, step.Target, max(step.Since, from), stage))
	}
}

// checkExhausted returns false if a chain of a schedule can start an instance later. Otherwise the values have ended: it
// notes this for the report, and ends the schedule if no instance of its chains is left.
func (w *Worker) checkExhausted(s *slots.Schedule) bool {
	if !w.flow.Exhausted(s.Index()) {
		return false
	}
	w.rec.Exhaust()
	if !w.flow.Live(s.Index()) {
		s.Halt(w.now)
	}
	return true
}

// closedLoops makes the requests of all closed loops. It returns true if a stage has ended.
func (w *Worker) closedLoops() (ended bool) {
	for i := range w.slots.All() {
		s := &w.slots.All()[i]
		if !s.ClosedLoop() {
			continue
		}
		at := s.Stage()
		if s.FillsStreams() {
			w.dropStarved(s)
			w.fillStreams(s)
		} else {
			w.fillConcurrency(s)
		}
		if s.Exhausted() {
			s.EndStage(w.now)
		}
		ended = ended || s.Stage() != at
	}
	return ended
}

// fillConcurrency makes requests while the stage may have more of them in flight. A request that finds no free stream waits
// and counts as in flight, so that the weights of chains hold for all targets.
func (w *Worker) fillConcurrency(s *slots.Schedule) {
	most := s.Most(w.now)
	for s.ClosedLoop() && !s.Exhausted() && w.slots.InUse(s, w.requests.InUse()) < most && w.limit.Ready(w.now) {
		w.number(s, s.Slot())
		a, t := w.flow.Longest(s.Index(), !s.InWarmUp())
		if t == flow.None {
			if s.Rate().Requests == 0 {
				s.Take() // the next attempt draws other values
			}
			w.checkExhausted(s)
			break
		}
		id := w.newRequest(a, t, w.now, int16(s.PlanStage()))
		w.admit(id)
		s.Take()
		c := w.conns.Take(t)
		switch {
		case c == nil:
			w.requests.Wait(id)
			w.sendWaitingTo(t)
		case !w.send(id, c):
			w.skipWait() // let time pass: this may repeat without an end
			return
		}
	}
}

// dropStarved drops the steps of a closed loop that have been ready for longer than a request may wait for a stream, and the oldest beyond
// maxWaiting. The streams of other targets start instances without an end. While the request limit holds the loop back, its steps wait.
func (w *Worker) dropStarved(s *slots.Schedule) {
	if w.limit.HasWaited() {
		return
	}
	total := w.requests.InUse() + w.flow.Waiting(s.Index())
	for t := range w.targets.all {
		for ; !s.Exhausted(); total-- {
			since := w.flow.Since(s.Index(), int32(t))
			if since == never || total <= maxWaiting && since+int64(w.cfg.MaxWait) > w.now {
				break
			}
			why := failure.Cause{Kind: rv.CauseMaxWaiting}
			if total <= maxWaiting {
				why = w.noStreamCause(t, w.now)
			}
			w.dropStep(s, int32(t), why)
		}
	}
}

// dropStep drops the step of a schedule that has waited longest for a target.
func (w *Worker) dropStep(s *slots.Schedule, target int32, why failure.Cause) {
	stage := s.PlanStage()
	if w.flow.Drop(s.Index(), target, rv.AbortDropped) {
		s.Take()
		w.rec.Drop(stage, why, 1)
	}
}

// nextStarved returns when dropStarved has something to do.
func (w *Worker) nextStarved() int64 {
	next := int64(never)
	if w.slots.Paused() || w.limit.NextToken() != never {
		return next
	}
	for k := range w.slots.All() {
		s := &w.slots.All()[k]
		if !s.ClosedLoop() || !s.FillsStreams() {
			continue
		}
		if since := w.flow.Oldest(s.Index()); since != never {
			next = min(next, since+int64(w.cfg.MaxWait))
		}
	}
	return next
}

// fillStreams makes a request for every free stream while the stage allows it.
func (w *Worker) fillStreams(s *slots.Schedule) {
	for i := range w.targets.all {
		for s.ClosedLoop() && !s.Exhausted() && w.limit.Ready(w.now) {
			c := w.conns.Take(int32(i))
			if c == nil {
				break
			}
			w.number(s, s.Slot())
			a, ok := w.flow.Of(s.Index(), int32(i), !s.InWarmUp())
			if !ok {
				if s.Rate().Requests == 0 {
					s.Take() // the next attempt draws other values
				}
				w.conns.Return(c)
				w.checkExhausted(s)
				break
			}
			id := w.newRequest(a, int32(i), w.now, int16(s.PlanStage()))
			w.admit(id)
			s.Take()
			if !w.send(id, c) {
				w.skipWait() // let time pass: this may repeat without an end
				break
			}
		}
	}
}

// number makes the values that occur once in the test follow from slot n of the current stage of a schedule.
func (w *Worker) number(s *slots.Schedule, n int64) {
	if w.flow.Numbered() {
		w.flow.Number(s.Number(n))
	}
}
