package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/slots"
)

// Change applies a change at its instant. Changes come in the order of their instants.
func (w *Worker) Change(c slots.Change) { w.slots.Add(c) }

// applyChanges applies the changes whose instants have come. None applies after the deadline.
func (w *Worker) applyChanges() {
	for {
		c := w.slots.Apply(min(w.clock.now, w.deadline()), w.clock.now, &w.chooser)
		switch {
		case c == nil:
			return
		case c.Leave: // the shards that stay run teardown
			w.instances.once.DropTeardown()
			if c.At <= w.slots.StartAt() {
				w.clock.aborted = true
			}
		case c.Share != nil:
			w.takeShare(c.Share, c.At)
		}
	}
}

// takeShare takes the connections and the values of another share from an instant on. The schedule has its slots.
func (w *Worker) takeShare(s *rv.Share, at int64) {
	once, without := w.cfg.Share.Once, len(w.cfg.Share.Slots.Residues) == 0
	w.cfg.Share = *s
	w.flow.SetShare(s, w.sources.SetShare(s, w.slots.Drawn(at), without))
	if w.slots.StartAt() != never {
		w.chooser.limit.Share(s.Slots.Portion(), w.clock.now)
	}
	w.conns.Resize(&w.targets, s, w.run.phase == Connecting)
	if s.Once != once { // the shard that ran setup may be lost before teardown
		w.instances.once.AssignTeardown(s.Once)
	}
}

// checkLease pauses the worker if the lease has expired, and ends the pause if the lease was renewed. It reads the
// clock itself: if the process was stopped after the turn began, the time of the turn is too old.
func (w *Worker) checkLease() {
	l := w.cfg.Lease
	if l.End() == never {
		return
	}
	if w.slots.Pause(l, w.net.Now()) {
		w.outcomes.dropWaiting(never)
	}
	w.slots.Resume(w.clock.now, &w.chooser)
}
