package loop

import (
	"math"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/runner/pace"
)

// stage is the rate stage in force. Stages follow one another without a gap: each begins at the
// instant at which the one before ends, and every worker computes the same instants.
type stage struct {
	index int // -1 before the start, len(rates) after the last
	rates []rv.Rate
	slots rv.Slots
	begin int64
	// planned is when the stage's duration is over, pauses added; end also knows its bound on
	// requests. Never: bounded by requests only, in a closed loop, or suspended.
	planned, end int64
	line         pace.Line
	// next is the number, among this worker's own slots of the stage, of the next one; quota is
	// how many of them the stage's bound on requests allows.
	next, quota int64
	nextDue     int64
	// suspended since pausedAt: nothing comes due. paused is how long earlier pauses of the stage were.
	suspended        bool
	pausedAt, paused int64
	// passed is how many slots the stages before had, of all workers; see passedBy.
	passed int64
	// taken is next of each stage that the worker has left: where it goes on if it is taken back to it.
	taken []int64
}

const never = math.MaxInt64

func (s *stage) warmUp() bool {
	return s.index >= 0 && s.index < len(s.rates) && s.rates[s.index].WarmUp
}

func (s *stage) over() bool { return s.index >= len(s.rates) }

// closedLoop returns whether the current stage is a closed loop that is not suspended.
func (s *stage) closedLoop() bool {
	return s.fast() && len(s.slots.Residues) > 0
}

func (s *stage) fast() bool {
	return s.index >= 0 && !s.over() && s.rates[s.index].ClosedLoop && !s.suspended
}

// enter makes stage i begin at an instant. A closed loop without a bound on requests never runs
// out of slots.
func (s *stage) enter(i int, at int64) {
	s.leave()
	s.passed = s.passedBy(at)
	s.index, s.begin, s.planned, s.end = i, at, never, never
	s.next, s.quota, s.nextDue, s.pausedAt, s.paused = 0, never, never, at, 0
	if s.over() {
		return
	}
	s.next = s.taken[i]
	r := &s.rates[i]
	if r.Duration > 0 {
		s.planned = at + int64(r.Duration)
	}
	if r.Requests > 0 {
		s.quota = shard.CountBelow(s.slots, r.Requests)
	}
	s.line = pace.Line{At: at, Count: r.Count, Period: int64(r.Period)}
	s.schedule()
}

// leave notes how far the worker has come in the stage.
func (s *stage) leave() {
	if s.index >= 0 && !s.over() {
		s.taken[s.index] = max(s.taken[s.index], s.next)
	}
}

// passedBy is how many slots came before an instant, of all workers. All of them come to the same number
// without asking each other. In a closed loop, when that is not known, it is a number that is not
// reached: the bound on requests, or a slot for each nanosecond.
func (s *stage) passedBy(at int64) int64 {
	if s.index < 0 || s.over() {
		return s.passed
	}
	r := &s.rates[s.index]
	n := int64(never)
	switch {
	case r.ClosedLoop && r.Requests == 0:
		n = at - s.begin
	case !r.ClosedLoop && s.suspended:
		n = s.line.Before(s.pausedAt)
	case !r.ClosedLoop:
		n = s.line.Before(at)
	}
	if r.Requests > 0 {
		n = min(n, r.Requests)
	}
	return s.passed + n
}

// schedule finds out when the stage ends and its next slot is due.
func (s *stage) schedule() {
	r := &s.rates[s.index]
	if s.suspended {
		s.end, s.nextDue = never, never
		return
	}
	s.end = s.planned
	if r.ClosedLoop {
		s.nextDue = never
		return
	}
	if r.Requests > 0 {
		s.end = min(s.end, s.line.Due(r.Requests))
	}
	s.nextDue = s.due()
}

// due is when the next slot is, or never.
func (s *stage) due() int64 {
	if s.next >= s.quota || len(s.slots.Residues) == 0 {
		return never
	}
	return s.line.Due(shard.Nth(s.slots, s.next))
}

// take uses up the next slot.
func (s *stage) take() {
	s.next++
	if !s.rates[s.index].ClosedLoop {
		s.nextDue = s.due()
	}
}

// exhausted says that a closed loop has sent all it may. Without slots it is over when its time is, if it
// has one.
func (s *stage) exhausted() bool {
	return s.fast() && s.next >= s.quota && (len(s.slots.Residues) > 0 || s.planned == never)
}

// nextPickUp is when pickUp has something to do.
func (w *Worker) nextPickUp() int64 {
	if w.paused {
		return w.loadEnd()
	}
	if w.stage.index < 0 {
		return w.startAt
	}
	next := min(w.stage.nextDue, w.stage.end)
	if next == never {
		return never
	}
	return max(next, w.pickedUpAt+int64(w.cfg.Grain))
}

// pickUp assigns every slot that has come due.
func (w *Worker) pickUp() {
	if w.now < w.nextPickUp() {
		return
	}
	w.pickedUpAt = w.now
	w.pickUpBefore(w.now + 1)
}

// pickUpBefore assigns every slot that is due before an instant, stage after stage. A paused worker drops them.
func (w *Worker) pickUpBefore(until int64) {
	if w.stage.index < 0 {
		if w.startAt >= until {
			return
		}
		if w.startedAt == 0 {
			w.startedAt = w.now
		}
		w.enterStage(0, w.startAt)
	}
	for !w.stage.over() {
		if w.paused {
			w.dropBefore(until)
		}
		for w.stage.nextDue < until && w.stage.nextDue < w.stage.end {
			due := w.stage.nextDue
			w.stage.take()
			w.assign(due) // which may end the stage
		}
		switch {
		case w.stage.end < until:
			w.enterStage(w.stage.index+1, w.stage.end)
		case w.stage.exhausted():
			w.enterStage(w.stage.index+1, w.now)
		default:
			return
		}
	}
}

func (w *Worker) enterStage(i int, at int64) {
	if was := w.stage.index; was >= 0 && was < len(w.stageEnds) {
		w.stageEnds[was] = at - w.startAt
		w.stagePauses[was] = w.stage.pausedBy(at)
	}
	w.stage.enter(i, at)
	if w.stage.over() {
		w.endedAt = at
		return
	}
	w.stageBegins[i] = at - w.startAt
}

// halt ends the load at an instant before its last stage has ended.
func (w *Worker) halt(at int64) {
	w.halted = true
	w.enterStage(len(w.stage.rates), at)
}

// assign gives a slot to the step that has been ready longest, or else to a new chain instance. A
// slot that no chain may take is dropped, unless the values of the chains have ended.
func (w *Worker) assign(due int64) {
	w.rec.Stages[w.stage.index].Slots++
	if !w.stage.warmUp() {
		w.rec.Lag.Record((w.now - due) / 1000)
	}
	if w.requests.inUse >= maxWaiting {
		w.countDropped(w.stage.index, failure.Cause{Kind: rv.CauseMaxWaiting})
		return
	}
	if w.numbered {
		w.number(shard.Nth(w.stage.slots, w.stage.next-1))
	}
	a, t := w.nextStep()
	switch {
	case t != none:
		w.requests.wait(w.newRequest(a, t, due, int16(w.stage.index)))
	case !w.exhaust():
		w.countDropped(w.stage.index, w.unbegun())
	}
}

// exhaust notes that the values have ended, and ends the load once the last instance has. It returns
// false when chains may begin again later.
func (w *Worker) exhaust() bool {
	if w.chains.mayBegin == nil || !w.exhausted() {
		return false
	}
	w.rec.Exhausted = true
	if !w.underWay() {
		w.halt(w.now)
	}
	return true
}

// closedLoop fills every free stream while the stage allows it.
func (w *Worker) closedLoop() {
	for i := range w.targets {
		for w.stage.closedLoop() && !w.stage.exhausted() {
			c := w.conns.takeAvailable(int32(i))
			if c == nil {
				break
			}
			if w.numbered {
				w.number(shard.Nth(w.stage.slots, w.stage.next))
			}
			a, ok := w.nextStepOf(int32(i))
			if !ok {
				if w.stage.quota == never {
					w.stage.next++ // what was drawn in vain is not drawn again
				}
				w.conns.offer(c)
				w.exhaust()
				break
			}
			tok := w.newRequest(a, int32(i), w.now, int16(w.stage.index))
			w.stage.take()
			if !w.send(tok, c) {
				w.skipWait() // let time pass: this may go on forever
				break
			}
		}
	}
	if w.stage.exhausted() {
		w.enterStage(w.stage.index+1, w.now)
	}
}
