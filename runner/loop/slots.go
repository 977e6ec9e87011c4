package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// nextPickUp returns when the worker must take slots, or enter the next stage.
func (w *Worker) nextPickUp() int64 {
	s := &w.schedule
	switch {
	case !w.lease.paused:
	case s.Over():
		return never
	default:
		return s.LoadEnd()
	}
	if w.hasReady() {
		return w.now
	}
	next := min(s.Due(), s.StageEnd())
	if next == never {
		return never
	}
	return max(next, s.earliestPickUp)
}

// pickUp assigns all slots that are due.
func (w *Worker) pickUp() {
	if w.now < w.nextPickUp() {
		return
	}
	w.pickUpBefore(w.now + 1)
	if !w.cfg.Spin {
		w.schedule.pickUpAgain(w.now + int64(w.cfg.SleepInterval))
	}
}

// pickUpBefore assigns all slots that are due before an instant, stage after stage. A paused worker drops them.
func (w *Worker) pickUpBefore(until int64) {
	s := &w.schedule
	for {
		if w.lease.paused {
			w.dropDue(until)
		}
		for s.Due() < until {
			due := s.Due()
			w.assign(s.Take(), due) // which may end the load
		}
		switch {
		case s.advance(until, w.now):
		case s.Exhausted():
			s.EndStage(w.now)
		default:
			return
		}
	}
}

// assign gives slot n of the current stage to the step that has been ready longest, or else to a new chain instance. It
// drops a slot that no chain may take, unless the values of the chains have ended.
func (w *Worker) assign(n, due int64) {
	stage := w.schedule.Stage()
	w.rec.Stages[stage].Slots++
	if !w.schedule.WarmUp(stage) {
		w.rec.lag(due, w.now, w.schedule.earliestPickUp)
	}
	if w.requests.inUse >= maxWaiting {
		w.countDropped(stage, failure.Cause{Kind: rv.CauseMaxWaiting})
		return
	}
	w.admitReady() // before the number of this slot, because ready steps have numbers of their own
	if w.schedule.numbered {
		w.number(n)
	}
	if w.schedule.startsChains() {
		w.startChain(due, int16(stage))
		return
	}
	a, t := w.nextStep()
	switch {
	case t != none:
		w.requests.wait(w.newRequest(a, t, due, int16(stage)))
	case !w.checkExhausted():
		w.countDropped(stage, w.noStartCause())
	}
}

// startChain gives a slot to a new chain instance. All steps of its first group are due with the slot.
func (w *Worker) startChain(due int64, stage int16) {
	c := w.chains.roundRobin.Next(w.chains.mayBegin)
	switch {
	case c >= 0 && w.chains.direct[c]:
		w.startRequest(w.beginDirect(c), int32(w.program.Chains[c].Target), due, stage, true)
	case c >= 0:
		w.beginNext(c)
		if !w.startGroup(due, stage) {
			w.rec.started(int(stage), false) // without a request: its steps have false conditions, or were aborted
		}
	case !w.checkExhausted():
		w.countDropped(int(stage), w.noStartCause())
	}
}

// startGroup makes requests of the first steps of the instance that has just started. It returns false if there are none.
func (w *Worker) startGroup(due int64, stage int16) (started bool) {
	for {
		a, t := w.popLongestReady()
		switch {
		case t == none:
			return started
		case started:
			w.numberLater(a.instance)
		}
		w.startRequest(a, t, due, stage, !started)
		started = true
	}
}

// startRequest makes the request of a step of a chain instance that its slot has started.
func (w *Worker) startRequest(a activation, target int32, due int64, stage int16, first bool) {
	tok := w.newRequest(a, target, due, stage)
	w.requests.all[tok].starts = first
	w.requests.wait(tok)
}

// hasReady returns true if there are ready steps that need no slot, and space for their requests.
func (w *Worker) hasReady() bool {
	return w.schedule.startsChains() && w.requests.inUse < maxWaiting && w.chains.hasReady()
}

// admitReady makes requests of all ready steps in a stage of chainsPerSecond. A step is due when it became ready. If it
// became ready before the stage or during a pause, it is due when the stage began or the load continued.
func (w *Worker) admitReady() {
	if !w.schedule.startsChains() {
		return
	}
	from, stage := max(w.schedule.Since(), w.lease.resumedAt), int16(w.schedule.Stage())
	for i := range w.targets {
		ready := &w.chains.ready[i]
		for ready.len() > 0 && w.requests.inUse < maxWaiting {
			s := ready.pop()
			if w.chains.all[s.instance].aborted != "" {
				w.dropActivation(s.instance)
				continue
			}
			w.numberLater(s.instance)
			w.requests.wait(w.newRequest(s.activation, s.target, max(s.since, from), stage))
		}
	}
}

// numberLater sets the numbers that a request without a slot draws from. They belong to the slot that started the
// instance.
func (w *Worker) numberLater(i int32) {
	if w.schedule.numbered {
		w.sources.Slot(w.chains.nextNumber(i))
	}
}

// checkExhausted returns false if a chain can start an instance later. Otherwise the values have ended: it notes this
// for the report, and ends the load if no instance is left.
func (w *Worker) checkExhausted() bool {
	if w.chains.mayBegin == nil || !w.exhausted() {
		return false
	}
	w.rec.Exhausted = true
	if !w.hasLoadInstance() {
		w.schedule.Halt(w.now)
	}
	return true
}

// closedLoop fills every free stream while the stage allows it.
func (w *Worker) closedLoop() {
	s := &w.schedule
	for i := range w.targets {
		for s.ClosedLoop() && !s.Exhausted() {
			c := w.conns.takeAvailable(int32(i))
			if c == nil {
				break
			}
			if s.numbered {
				w.number(s.Slot())
			}
			a, ok := w.nextStepOf(int32(i))
			if !ok {
				if s.Rate().Requests == 0 {
					s.Take() // the next attempt draws other values
				}
				w.conns.offer(c)
				w.checkExhausted()
				break
			}
			tok := w.newRequest(a, int32(i), w.now, int16(s.Stage()))
			s.Take()
			if !w.send(tok, c) {
				w.skipWait() // let time pass: this may repeat without an end
				break
			}
		}
	}
	if s.Exhausted() {
		s.EndStage(w.now)
	}
}

// dropDue drops the slots of the current stage that are due before an instant.
func (w *Worker) dropDue(until int64) {
	stage := w.schedule.Stage()
	if n := w.schedule.Drop(until); n > 0 {
		w.lease.dropped(n)
		w.rec.Stages[stage].Slots += n
		w.countDroppedSlots(stage, failure.Cause{Kind: rv.CauseLeaseExpired}, n)
	}
}

// number makes the values that occur once in the test follow from slot n of the current stage.
func (w *Worker) number(n int64) {
	w.sources.Slot(w.schedule.number(n, w.chains.perSlot, len(w.cfg.Rates)))
}
