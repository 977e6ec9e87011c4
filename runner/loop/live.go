package loop

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/shard"
)

// Change is what changes of a run from an instant of the worker's clock on. Every worker of every shard
// gets the same, as far from the start, and comes to the same instants for all slots; one that hears of it
// late catches up. One from before the start instant holds from the start.
type Change struct {
	At int64
	// Rates are those of all stages; only counts and periods differ from the ones before.
	Rates []rv.Rate
	// Suspended: nothing comes due until a Change without it.
	Suspended bool
	// Share is the worker's own part from At on; nil: it stays the same. A worker that hears of it late has
	// sent what is another's by then, and sends what was its own since At.
	Share *rv.Share
	// Leave ends the load at At. Before the start, it ends the worker.
	Leave bool
}

// Change puts a change in force when its instant has come. Changes come in the order of their instants.
func (w *Worker) Change(c Change) { w.changes = append(w.changes, c) }

// nextChange is when the next change comes into force.
func (w *Worker) nextChange() int64 {
	if len(w.changes) == 0 {
		return never
	}
	return w.changes[0].At
}

// applyChanges puts in force what has come to its instant: what was due before is assigned first.
func (w *Worker) applyChanges() {
	for w.nextChange() <= w.now {
		c := w.changes[0]
		w.changes = w.changes[1:]
		if w.tooFar(c.At) {
			w.goBack(c.At)
		} else {
			w.pickUpBefore(c.At)
		}
		w.apply(c)
	}
}

func (w *Worker) apply(c Change) {
	if c.Leave {
		w.leaveLoad(c.At)
		return
	}
	w.stage.change(c)
	if c.Share != nil {
		w.takeShare(c.Share, c.At)
	}
	w.changed = w.changed || w.stage.index >= 0
	w.dealt = w.stage
}

// tooFar says that the worker has left the stage to which a change belongs. A stage that another one has
// followed is not changed any more by what comes at its end.
func (w *Worker) tooFar(at int64) bool {
	return w.stage.index >= 0 && at <= w.stage.begin && !w.halted && !w.run.loadOver
}

// goBack takes the stages, but nothing that was sent, back to an instant after the last change. What the
// worker has taken of its slots stays taken.
func (w *Worker) goBack(at int64) {
	w.stage.leave()
	last := w.stage.index
	w.stage = w.dealt
	for w.stage.index < last {
		end := w.stage.end
		switch {
		case w.stage.index < 0:
			end = w.startAt
		case w.stage.fast() && w.stage.planned == never: // it ended when all was sent
			end = w.startAt + w.stageEnds[w.stage.index]
		}
		if end >= at {
			break
		}
		w.stage.enter(w.stage.index+1, end)
	}
	i := max(0, w.stage.index)
	if w.stage.index >= 0 && !w.stage.over() {
		w.stage.next = max(w.stage.next, w.stage.taken[i])
	}
	clear(w.stageEnds[i:])
	clear(w.stagePauses[i:])
	w.endedAt = 0
}

// leaveLoad ends the load at an instant. Teardown is for those that stay.
func (w *Worker) leaveLoad(at int64) {
	w.dropTeardown()
	switch {
	case w.stage.index < 0:
		w.abort()
	case !w.stage.over():
		w.halt(at)
	}
}

// change bends the stage in force at an instant, lets it pause, or lets it go on.
func (s *stage) change(c Change) {
	s.rates = c.Rates
	resumed := s.suspended && !c.Suspended
	paused := !s.suspended && c.Suspended
	s.suspended = c.Suspended
	if s.index < 0 || s.over() {
		return
	}
	r := &s.rates[s.index]
	switch {
	case resumed:
		s.resume(c.At, r)
	case paused:
		s.pausedAt = c.At
	case !s.suspended:
		s.bend(c.At, r)
	}
	s.schedule()
}

// resume lets the stage go on where it was paused, later by the pause: so is every slot that was still to
// come, and no slot more or less fits in.
func (s *stage) resume(at int64, r *rv.Rate) {
	pause := at - s.pausedAt
	s.paused += pause
	if s.planned != never {
		s.planned += pause
	}
	s.line.At += pause
	s.bend(at, r)
}

// bend goes on from an instant with the rate r, if that is another one.
func (s *stage) bend(at int64, r *rv.Rate) {
	if !r.ClosedLoop && (r.Count != s.line.Count || int64(r.Period) != s.line.Period) {
		s.line = s.line.Bend(at, r.Count, int64(r.Period))
	}
}

// pausedBy is how long the stage was paused up to an instant.
func (s *stage) pausedBy(at int64) int64 {
	if s.suspended && s.index >= 0 && !s.over() {
		return s.paused + at - s.pausedAt
	}
	return s.paused
}

// takeShare makes another part of everything the worker's own from an instant on.
func (w *Worker) takeShare(s *rv.Share, at int64) {
	once, idle := w.cfg.Share.Once, len(w.cfg.Share.Slots.Residues) == 0
	w.cfg.Share = *s
	w.stage.deal(s.Slots, at)
	for w.stage.exhausted() { // nothing of it is the worker's any more
		w.enterStage(w.stage.index+1, w.now)
	}
	w.numbered = w.sources.Deal(s, w.chains.perSlot*w.stage.passedBy(at), idle)
	w.bound()
	for t := range s.Connections {
		w.conns.resize(int32(t), s.Connections[t], s.FirstConnection[t], w.run.phase == Connecting)
	}
	if s.Once != once { // the shard that ran setup may be lost, and teardown is still to come
		w.giveTeardown()
	}
}

// maxResidues bounds Slots.Of of a worker: so many shards, and so many workers of each.
const maxResidues = shard.MaxShards * shard.MaxShards

// number makes the values that occur once in the test follow from the n-th slot of the stage in force, once
// shares have been dealt anew. A slot has one owner, and several numbers where several may be drawn for it.
//
// Until the first deal, a worker draws the k-th number that its residues have. After k slots of a stage that
// has n, this is less than n, rounded up to Of: all numbers after a deal are higher by that much for
// each stage, and once more for what setup draws.
func (w *Worker) number(n int64) {
	first := int64(len(w.stage.rates)+1) * maxResidues
	w.sources.Slot(first + w.chains.perSlot*(w.stage.passed+n))
}

// deal gives the stage in force other slots. Of those that are not due before an instant the worker
// has its own to come, whatever it has sent since. In a closed loop slots have no scheduled times; all workers are
// taken to be equally far.
func (s *stage) deal(slots rv.Slots, at int64) {
	was := s.slots
	if was.Of == slots.Of && slices.Equal(was.Residues, slots.Residues) {
		return
	}
	s.slots = slots
	clear(s.taken)
	if s.index < 0 || s.over() {
		return
	}
	r := &s.rates[s.index]
	switch {
	case r.ClosedLoop && r.Requests == 0:
		s.next = shard.CountBelow(slots, at-s.begin) // above all that were sent: see passedBy
	case !r.ClosedLoop:
		if s.suspended {
			at = s.pausedAt
		}
		s.next = shard.CountBelow(slots, s.line.Before(at))
	case r.Requests > 0 && len(was.Residues) > 0:
		s.next = shard.CountBelow(slots, shard.Nth(was, s.next))
	}
	if r.Requests > 0 {
		s.quota = shard.CountBelow(slots, r.Requests)
	}
	s.schedule()
}
