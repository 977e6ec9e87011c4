package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
)

// nextPickUp returns when the worker must take slots, or enter the next stage of a schedule.
func (w *Worker) nextPickUp() int64 {
	switch {
	case !w.lease.paused:
	case w.schedules.Over():
		return never
	default:
		return w.schedules.loadEnd()
	}
	next := int64(never)
	for i := range w.schedules.all {
		s := &w.schedules.all[i]
		if s.startsChains() && w.requests.InUse() < maxWaiting && w.chains.readyFor(s).len() > 0 {
			return w.now
		}
		next = min(next, s.Due(), s.StageEnd(), s.rises())
	}
	if next == never {
		return never
	}
	return max(next, w.schedules.earliestPickUp)
}

// pickUp assigns all slots that are due.
func (w *Worker) pickUp() {
	if w.now < w.nextPickUp() {
		return
	}
	w.pickUpBefore(w.now + 1)
	if !w.cfg.Spin {
		w.schedules.pickUpAgain(w.now + int64(w.cfg.SleepInterval))
	}
}

// pickUpBefore assigns all slots that are due before an instant, one schedule after another. A paused worker drops them.
func (w *Worker) pickUpBefore(until int64) {
	for i := range w.schedules.all {
		w.pickUpFrom(&w.schedules.all[i], until)
	}
}

// pickUpFrom assigns the slots of a schedule, stage after stage.
func (w *Worker) pickUpFrom(s *schedule, until int64) {
	for {
		if w.lease.paused {
			w.dropDue(s, until)
		}
		for s.Due() < until {
			due := s.Due()
			w.assign(s, s.Take(), due) // which may end the load
		}
		switch {
		case s.Advance(until):
			w.schedules.began(w.now)
		case s.Exhausted():
			s.EndStage(w.now)
		default:
			return
		}
	}
}

// assign gives slot n of the current stage of a schedule to the step that has been ready longest, or else to a new chain
// instance. It drops a slot that no chain may take, unless the values of the chains have ended.
func (w *Worker) assign(s *schedule, n, due int64) {
	stage := s.stage()
	w.rec.slot(stage, due, w.now, w.schedules.earliestPickUp)
	if w.requests.InUse() >= maxWaiting {
		w.rec.dropped(stage, failure.Cause{Kind: rv.CauseMaxWaiting}, 1)
		return
	}
	starts := s.startsChains()
	if starts {
		w.admitReady(s) // before the number of this slot, because ready steps have numbers of their own
	}
	if w.schedules.numbered {
		w.number(s, n)
	}
	if starts {
		w.startChain(s, due, int16(stage))
		return
	}
	a, t := w.nextStep(s)
	switch {
	case t != none:
		w.requests.Wait(w.newRequest(a, t, due, int16(stage)))
	case !w.checkExhausted(s):
		w.rec.dropped(stage, w.noStartCause(s), 1)
	}
}

// startChain gives a slot to a new chain instance. All steps of its first group are due with the slot.
func (w *Worker) startChain(s *schedule, due int64, stage int16) {
	c := s.roundRobin.Next(w.chains.mayBegin)
	switch {
	case c >= 0 && w.chains.direct[c]:
		w.startRequest(w.beginDirect(c), int32(w.program.Chains[c].Target), due, stage, true)
	case c >= 0:
		w.beginNext(c)
		if !w.startGroup(s, due, stage) {
			w.rec.started(int(stage), false) // without a request: its steps have false conditions, or were aborted
		}
	case !w.checkExhausted(s):
		w.rec.dropped(int(stage), w.noStartCause(s), 1)
	}
}

// startGroup makes requests of the first steps of the instance that has just started. It returns false if there are none.
func (w *Worker) startGroup(s *schedule, due int64, stage int16) (started bool) {
	for {
		a, t := w.chains.readyFor(s).popLongest()
		switch {
		case t == none:
			return started
		case started:
			w.numberLater(a.Instance)
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
	for i := range w.schedules.all {
		if s := &w.schedules.all[i]; s.startsChains() {
			w.admitReady(s)
		}
	}
}

// admitReady makes requests of all ready steps in a stage of chainsPerSecond. A step is due when it became ready. If it
// became ready before the stage or during a pause, it is due when the stage began or the load continued.
func (w *Worker) admitReady(s *schedule) {
	from, stage := max(s.Since(), w.lease.resumedAt), int16(s.stage())
	queues := w.chains.readyFor(s)
	for i := range queues {
		for ready := &queues[i]; ready.Len() > 0 && w.requests.InUse() < maxWaiting; {
			step := ready.Pop()
			if w.chains.at(step.Instance).aborted != "" {
				w.dropActivation(step.Instance)
				continue
			}
			w.numberLater(step.Instance)
			w.requests.Wait(w.newRequest(step.Activation, step.target, max(step.since, from), stage))
		}
	}
}

// checkExhausted returns false if a chain of a schedule can start an instance later. Otherwise the values have ended: it
// notes this for the report, and ends the schedule if no instance of its chains is left.
func (w *Worker) checkExhausted(s *schedule) bool {
	if w.chains.mayBegin == nil || !w.exhausted(s) {
		return false
	}
	w.rec.Exhausted = true
	if !w.hasLoadInstance(s) {
		s.Halt(w.now)
	}
	return true
}

// closedLoops makes the requests of all closed loops. It returns true if a stage has ended.
func (w *Worker) closedLoops() (ended bool) {
	for i := range w.schedules.all {
		s := &w.schedules.all[i]
		if !s.ClosedLoop() {
			continue
		}
		at := s.Stage()
		if s.fillsStreams() {
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
func (w *Worker) fillConcurrency(s *schedule) {
	most, rises := s.Concurrency(w.now)
	s.riseAt(rises)
	for s.ClosedLoop() && !s.Exhausted() && w.inUse(s) < most && w.limit.ready(w.now) {
		if w.schedules.numbered {
			w.number(s, s.Slot())
		}
		a, t := w.nextStep(s)
		if t == none {
			if s.Rate().Requests == 0 {
				s.Take() // the next attempt draws other values
			}
			w.checkExhausted(s)
			break
		}
		id := w.newRequest(a, t, w.now, int16(s.stage()))
		w.limit.admit(w.requests.At(id), w.now)
		s.Take()
		c := w.conns.takeAvailable(t)
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

// inUse returns how many requests of a schedule have no outcome.
func (w *Worker) inUse(s *schedule) int64 {
	if w.schedules.counts {
		return s.inUse
	}
	return int64(w.requests.InUse())
}

// dropStarved drops the steps of a closed loop that have been ready for longer than a request may wait for a stream, and the oldest beyond
// maxWaiting. The streams of other targets start instances without an end. While the request limit holds the loop back, its steps wait.
func (w *Worker) dropStarved(s *schedule) {
	if w.limit.waited {
		return
	}
	queues := w.chains.readyFor(s)
	total := w.requests.InUse() + queues.len()
	for i := range queues {
		for ready := &queues[i]; ready.Len() > 0 && !s.Exhausted(); total-- {
			why := failure.Cause{Kind: rv.CauseMaxWaiting}
			if total <= maxWaiting {
				if ready.Front().since+int64(w.cfg.MaxWait) > w.now {
					break
				}
				why = w.noStreamCause(i, w.now)
			}
			step := ready.Pop()
			if w.chains.at(step.Instance).aborted == "" {
				s.Take()
				w.rec.dropped(s.stage(), why, 1)
			}
			w.abortStep(step.Instance, rv.AbortDropped)
		}
	}
}

// nextStarved returns when dropStarved has something to do.
func (w *Worker) nextStarved() int64 {
	next := int64(never)
	if w.lease.paused || w.limit.wakeAt != never {
		return next
	}
	for k := range w.schedules.all {
		s := &w.schedules.all[k]
		if !s.ClosedLoop() || !s.fillsStreams() {
			continue
		}
		ready := w.chains.readyFor(s)
		for i := range ready {
			if ready[i].Len() > 0 {
				next = min(next, ready[i].Front().since+int64(w.cfg.MaxWait))
			}
		}
	}
	return next
}

// fillStreams makes a request for every free stream while the stage allows it.
func (w *Worker) fillStreams(s *schedule) {
	for i := range w.targets.all {
		for s.ClosedLoop() && !s.Exhausted() && w.limit.ready(w.now) {
			c := w.conns.takeAvailable(int32(i))
			if c == nil {
				break
			}
			if w.schedules.numbered {
				w.number(s, s.Slot())
			}
			a, ok := w.nextStepOf(s, int32(i))
			if !ok {
				if s.Rate().Requests == 0 {
					s.Take() // the next attempt draws other values
				}
				w.conns.offer(c)
				w.checkExhausted(s)
				break
			}
			id := w.newRequest(a, int32(i), w.now, int16(s.stage()))
			w.limit.admit(w.requests.At(id), w.now)
			s.Take()
			if !w.send(id, c) {
				w.skipWait() // let time pass: this may repeat without an end
				break
			}
		}
	}
}

// dropDue drops the slots of the current stage of a schedule that are due before an instant.
func (w *Worker) dropDue(s *schedule, until int64) {
	stage := s.stage()
	if n := s.Drop(until); n > 0 {
		w.lease.dropped(n)
		w.rec.Stages[stage].Slots += n
		w.rec.dropped(stage, failure.Cause{Kind: rv.CauseLeaseExpired}, n)
	}
}

// number makes the values that occur once in the test follow from slot n of the current stage of a schedule.
func (w *Worker) number(s *schedule, n int64) {
	w.sources.Slot(w.schedules.number(s, n, w.chains.perSlot))
}
