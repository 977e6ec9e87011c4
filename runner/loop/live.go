package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/shard"
)

// Change is what changes of a run from an instant of the worker's clock on. Every worker of every shard
// gets the same, and comes to the same instants for all slots; one that hears of it late catches up.
type Change struct {
	At int64
	// Rates are those of all stages; only counts and periods differ from the ones before.
	Rates []rv.Rate
	// Suspended: nothing comes due until a Change without it.
	Suspended bool
	// Share is the worker's own part from At on; nil: it stays the same. A worker that hears of it after
	// At may send what another one sends too.
	Share *rv.Share
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
		w.pickUpBefore(c.At)
		w.stage.change(c)
		if c.Share != nil {
			w.takeShare(c.Share, c.At)
		}
		w.changed = w.changed || w.stage.index >= 0
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
	if !r.AsFastAsPossible && (r.Count != s.line.Count || int64(r.Period) != s.line.Period) {
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
	once := w.cfg.Share.Once
	w.cfg.Share = *s
	w.stage.deal(s.Slots, at)
	for w.stage.exhausted() { // nothing of it is the worker's any more
		w.enterStage(w.stage.index+1, w.now)
	}
	w.sources.Deal(s)
	for t := range s.Connections {
		w.haveConnections(int32(t), s.Connections[t], s.FirstConnection[t])
	}
	if s.Once && !once { // whoever ran setup is lost, and teardown is still to come
		w.teardown = w.newOnce(rv.PhaseTeardown, teardownStage)
	}
}

// deal gives the stage in force other slots. Of those that are not due before an instant the worker
// has its own to come. As fast as possible, slots have no instants; all workers are taken to be equally far.
func (s *stage) deal(slots rv.Slots, at int64) {
	was := s.slots
	s.slots = slots
	if s.index < 0 || s.over() {
		return
	}
	r := &s.rates[s.index]
	switch {
	case !r.AsFastAsPossible:
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

// haveConnections opens connections to a target, or retires some, until there are so many. New ones are
// numbered on from first.
func (w *Worker) haveConnections(t int32, want, first int) {
	var have []int32
	for i := range w.conns {
		if c := &w.conns[i]; c.target == t && (c.state == dialling || c.state == open) && c.replaces == none {
			have = append(have, int32(i))
		}
	}
	for k := len(have); k < want; k++ {
		w.unready++
		w.dial(w.newConn(t, int32(first+k)), 0)
	}
	for k := want; k < len(have); k++ {
		if c := &w.conns[have[k]]; c.state == dialling {
			w.discard(c)
		} else {
			w.retire(c, false)
		}
	}
}
