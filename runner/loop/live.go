package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/pace"
)

// Change is a change of a run from an instant of the worker's clock on. All workers of all shards get it with the same
// offset from the start, so all compute the same scheduled times. A worker that learns of it late sends what is missing.
// A change from before the start takes effect at the start.
type Change struct {
	At int64
	// Rates are those of all stages. Only counts and periods differ from the rates before.
	Rates []rv.Rate
	// Suspended is true if no slot is due until a Change without it.
	Suspended bool
	// Share is the worker's own share from At on; nil: it stays the same. A worker that learns of it late has sent slots that
	// another worker has from At on. It sends all slots that it has itself since At.
	Share *rv.Share
	// Leave ends the load at At. Before the start, it ends the worker.
	Leave bool
}

// Change applies a change at its instant. Changes come in the order of their instants.
func (w *Worker) Change(c Change) { w.schedule.add(c) }

// applyChanges applies the changes whose instants have come. The worker first assigns what was due before.
func (w *Worker) applyChanges() {
	for w.schedule.nextChange() <= w.now {
		c := w.schedule.pop()
		w.pickUpBefore(c.At)
		w.apply(c)
	}
}

func (w *Worker) apply(c Change) {
	if c.Leave {
		w.leaveLoad(c.At)
		return
	}
	next := pace.Change{At: c.At, Rates: c.Rates, Suspended: c.Suspended}
	if c.Share != nil {
		next.Slots = &c.Share.Slots
	}
	w.schedule.Change(next)
	if c.Share != nil {
		w.takeShare(c.Share, c.At)
	}
}

// leaveLoad ends the load at an instant. The shards that stay run teardown.
func (w *Worker) leaveLoad(at int64) {
	w.dropTeardown()
	if at <= w.schedule.startAt {
		w.abort()
		return
	}
	w.schedule.Leave(at)
}

// takeShare takes the connections and the values of another share from an instant on. The schedule has its slots.
func (w *Worker) takeShare(s *rv.Share, at int64) {
	once, idle := w.cfg.Share.Once, len(w.cfg.Share.Slots.Residues) == 0
	w.cfg.Share = *s
	for w.schedule.Exhausted() { // the worker has sent all requests of its new share
		w.schedule.EndStage(w.now)
	}
	w.schedule.share(w.sources.SetShare(s, w.chains.perSlot*w.schedule.Passed(at), idle))
	w.bound()
	for t := range s.Connections {
		w.conns.resize(int32(t), s.Connections[t], s.FirstConnection[t], w.run.phase == Connecting)
	}
	if s.Once != once { // the shard that ran setup may be lost before teardown
		w.giveTeardown()
	}
}

// number makes the values that occur once in the test follow from slot n of the current stage.
func (w *Worker) number(n int64) {
	w.sources.Slot(w.schedule.number(n, w.chains.perSlot, len(w.cfg.Rates)))
}
