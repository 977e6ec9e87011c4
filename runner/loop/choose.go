package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/slots"
)

// chooser makes the requests of a turn: of the slots that are due, of the steps that need no slot, and of free streams.
// It implements slots.Sink.
type chooser struct {
	sender
	cfg *Config
}

// generate makes the requests of this turn. A stage that ends on the way hands over to the next
// in the same turn. A paused worker makes none.
func (c *chooser) generate() {
	c.limit.BeginTurn()
	c.admitUnpaced()
	if c.slots.Paused() {
		c.slots.Pass(c.now, c)
		c.dropWaiting(c.now)
		return
	}
	for {
		c.pickUp()
		c.admitAllReady()
		c.sendWaiting()
		if !c.closedLoops() {
			return
		}
	}
}

// hasUnslotted returns whether steps are ready that need no slot and may be sent, in a stage of chainsPerSecond.
func (c *chooser) hasUnslotted() bool {
	if c.slots.Paused() || c.requests.InUse() >= maxWaiting {
		return false
	}
	all := c.slots.All()
	for i := range all {
		if all[i].StartsChains() && c.flow.Waiting(all[i].Index()).Len() > 0 {
			return true
		}
	}
	return false
}

// pickUp assigns all slots that are due.
func (c *chooser) pickUp() {
	if !c.slots.Due(c.now) && !c.hasUnslotted() {
		return
	}
	c.slots.Take(c.now+1, c.now, c)
	if !c.cfg.Spin {
		c.slots.PickUpAgain(c.now + int64(c.cfg.SleepInterval))
	}
}

// Dropped counts slots of a stage that were due in a pause. It implements slots.Sink.
func (c *chooser) Dropped(stage int, n int64) {
	c.rec.DropPaused(stage, n)
}

// Slot gives slot n of the current stage of a schedule to the step that has been ready longest, or else to a new chain
// instance. It drops a slot that no chain may take, unless the values of the chains have ended. It implements
// slots.Sink.
func (c *chooser) Slot(s *slots.Schedule, n, due int64) {
	stage := s.PlanStage()
	c.rec.Slot(stage, due, c.now, c.slots.EarliestPickUp())
	if c.requests.InUse() >= maxWaiting {
		c.rec.Drop(stage, failure.Cause{Kind: rv.CauseMaxWaiting}, 1)
		return
	}
	starts := s.StartsChains()
	if starts {
		c.admitReady(s) // before the number of this slot, because ready steps have numbers of their own
	}
	c.number(s, n)
	if starts {
		c.startChain(s, due, int16(stage))
		return
	}
	a, t := c.flow.Longest(s.Index(), !s.InWarmUp())
	switch {
	case t != flow.None:
		c.wait(c.newRequest(a, t, due, int16(stage)))
	case !c.checkExhausted(s):
		c.rec.Drop(stage, c.flow.NoStart(s.Index()), 1)
	}
}

// startChain gives a slot to a new chain instance. All steps of its first group are due with the slot.
func (c *chooser) startChain(s *slots.Schedule, due int64, stage int16) {
	a, t, ok := c.flow.BeginNext(s.Index(), !s.InWarmUp())
	switch {
	case ok && t != flow.None:
		c.start(a, t, due, stage)
	case ok:
		c.startGroup(s, due, stage)
	case !c.checkExhausted(s):
		c.rec.Drop(int(stage), c.flow.NoStart(s.Index()), 1)
	}
}

// startGroup makes requests of the first steps of the instance that has just started.
func (c *chooser) startGroup(s *slots.Schedule, due int64, stage int16) {
	waiting := c.flow.Waiting(s.Index())
	a, t := waiting.Longest()
	if t == flow.None {
		c.rec.Started(int(stage), false) // without a request: its steps have false conditions, or were aborted
		return
	}
	c.start(a, t, due, stage)
	for a, t = waiting.Longest(); t != flow.None; a, t = waiting.Longest() {
		c.flow.NumberLater(a.Instance)
		c.wait(c.newRequest(a, t, due, stage))
	}
}

// start makes the request of the first step of a chain instance that its slot has started.
func (c *chooser) start(a chain.Activation, target int32, due int64, stage int16) {
	id := c.newRequest(a, target, due, stage)
	c.requests.At(id).SetStarts()
	c.wait(id)
}

// admitAllReady makes requests of all ready steps that need no slot.
func (c *chooser) admitAllReady() {
	for i := range c.slots.All() {
		if s := &c.slots.All()[i]; s.StartsChains() {
			c.admitReady(s)
		}
	}
}

// admitReady makes requests of all ready steps in a stage of chainsPerSecond. A step is due when it became ready. If it
// became ready before the stage or during a pause, it is due when the stage began or the load continued.
func (c *chooser) admitReady(s *slots.Schedule) {
	from, stage := c.slots.ReadySince(s), int16(s.PlanStage())
	for c.requests.InUse() < maxWaiting {
		step, ok := c.flow.Unslotted(s.Index())
		if !ok {
			return
		}
		c.wait(c.newRequest(step.Activation, step.Target, max(step.Since, from), stage))
	}
}

// checkExhausted returns false if a chain of a schedule can start an instance later. Otherwise the values have ended:
// it notes this for the report, and ends the schedule if no instance of its chains is left.
func (c *chooser) checkExhausted(s *slots.Schedule) bool {
	if !c.flow.Exhausted(s.Index()) {
		return false
	}
	c.rec.Exhaust()
	if !c.flow.Live(s.Index()) {
		s.Halt(c.now)
	}
	return true
}

// closedLoops makes the requests of all closed loops. It returns true if a stage has ended.
func (c *chooser) closedLoops() (ended bool) {
	for i := range c.slots.All() {
		s := &c.slots.All()[i]
		if !s.ClosedLoop() {
			continue
		}
		at := s.Stage()
		if s.FillsStreams() {
			c.dropStarved(s)
			c.fillStreams(s)
		} else {
			c.fillConcurrency(s)
		}
		if s.Exhausted() {
			s.EndStage(c.now)
		}
		ended = ended || s.Stage() != at
	}
	return ended
}

// fillConcurrency makes requests while the stage may have more of them in flight. A request that finds no free stream
// waits and counts as in flight, so that the weights of chains hold for all targets.
func (c *chooser) fillConcurrency(s *slots.Schedule) {
	most := s.Most(c.now)
	for s.ClosedLoop() && !s.Exhausted() && c.slots.InUse(s, c.requests.InUse()) < most && c.limit.Ready(c.now) {
		c.number(s, s.Slot())
		a, t := c.flow.Longest(s.Index(), !s.InWarmUp())
		if t == flow.None {
			if s.Rate().Requests == 0 {
				s.Take() // the next attempt draws other values
			}
			c.checkExhausted(s)
			break
		}
		id := c.newRequest(a, t, c.now, int16(s.PlanStage()))
		c.admit(id)
		s.Take()
		conn := c.conns.To(t).TakeFor(a.Instance)
		switch {
		case conn == nil:
			c.wait(id)
			c.sendWaitingTo(t)
		case !c.send(id, conn):
			c.skipWait() // let time pass: this may repeat without an end
			return
		}
	}
}

// dropStarved drops the steps of a closed loop that have been ready for longer than a request may wait for a stream,
// and the oldest beyond maxWaiting. The streams of other targets start instances without an end. While the request
// limit holds the loop back, its steps wait. The time before the stage, and in a pause, does not count.
func (c *chooser) dropStarved(s *slots.Schedule) {
	if c.limit.HasWaited() {
		return
	}
	waiting, from := c.flow.Waiting(s.Index()), c.slots.ReadySince(s)
	total := c.requests.InUse() + waiting.Len()
	for t := range c.targets.Len() {
		for ; !s.Exhausted(); total-- {
			since := waiting.Since(int32(t))
			if since == never || total <= maxWaiting && max(since, from)+int64(c.cfg.MaxWait) > c.now {
				break
			}
			why := failure.Cause{Kind: rv.CauseMaxWaiting}
			if total <= maxWaiting {
				why = c.noStreamCause(t, c.now)
			}
			stage := s.PlanStage()
			if c.flow.Drop(s.Index(), int32(t), rv.AbortDropped) {
				s.Take()
				c.rec.Drop(stage, why, 1)
			}
		}
	}
}

// nextStarved returns when dropStarved has something to do.
func (c *chooser) nextStarved() int64 {
	next := int64(never)
	if c.slots.Paused() || c.limit.NextToken() != never {
		return next
	}
	for k := range c.slots.All() {
		s := &c.slots.All()[k]
		if !s.ClosedLoop() || !s.FillsStreams() {
			continue
		}
		if since := c.flow.Waiting(s.Index()).Oldest(); since != never {
			next = min(next, max(since, c.slots.ReadySince(s))+int64(c.cfg.MaxWait))
		}
	}
	return next
}

// fillStreams makes a request for every free stream while the stage allows it.
func (c *chooser) fillStreams(s *slots.Schedule) {
	for i := range c.targets.Len() {
		for s.ClosedLoop() && !s.Exhausted() && c.limit.Ready(c.now) {
			conn := c.conns.To(int32(i)).Take()
			if conn == nil {
				break
			}
			c.number(s, s.Slot())
			a, ok := c.flow.Of(s.Index(), int32(i), !s.InWarmUp())
			if !ok {
				if s.Rate().Requests == 0 {
					s.Take() // the next attempt draws other values
				}
				c.conns.To(int32(i)).Offer(conn)
				c.checkExhausted(s)
				break
			}
			id := c.newRequest(a, int32(i), c.now, int16(s.PlanStage()))
			c.admit(id)
			s.Take()
			if !c.send(id, conn) {
				c.skipWait() // let time pass: this may repeat without an end
				break
			}
		}
	}
}

// number makes the values that occur once in the test follow from slot n of the current stage of a schedule.
func (c *chooser) number(s *slots.Schedule, n int64) {
	if c.flow.Numbered() {
		c.flow.Number(s.Number(n))
	}
}
