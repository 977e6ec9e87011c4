package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
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
	// another worker has from At on. It sends the slots of its new share since At, except those that it has sent.
	Share *rv.Share
	// Leave ends the load at At. Before the start, it ends the worker.
	Leave bool
}

// Change applies a change at its instant. Changes come in the order of their instants.
func (w *Worker) Change(c Change) { w.schedules.add(c) }

// applyChanges applies the changes whose instants have come. The worker first assigns what was due before.
func (w *Worker) applyChanges() {
	for w.schedules.nextChange() <= w.now {
		c := w.schedules.pop()
		w.pickUpBefore(c.At)
		w.apply(c)
	}
}

func (w *Worker) apply(c Change) {
	if c.Leave {
		w.leaveLoad(c.At)
		return
	}
	w.schedules.change(&c)
	if c.Share != nil {
		w.takeShare(c.Share, c.At)
	}
}

// leaveLoad ends the load at an instant. The shards that stay run teardown.
func (w *Worker) leaveLoad(at int64) {
	w.once.dropTeardown()
	if at <= w.schedules.startAt {
		w.abort()
		return
	}
	w.schedules.leave(at)
}

// takeShare takes the connections and the values of another share from an instant on. The schedule has its slots.
func (w *Worker) takeShare(s *rv.Share, at int64) {
	once, idle := w.cfg.Share.Once, len(w.cfg.Share.Slots.Residues) == 0
	w.cfg.Share = *s
	w.schedules.endExhausted(w.now) // the worker may have sent all requests of its new share
	w.schedules.share(w.sources.SetShare(s, w.schedules.drawn(at, w.chains.perSlot), idle))
	w.bound()
	if w.schedules.startAt != never {
		w.limit.share(s.Slots.Portion(), w.now)
	}
	for t := range s.Connections {
		w.conns.resize(int32(t), s.Connections[t], s.FirstConnection[t], w.run.phase == Connecting)
	}
	if s.Once != once { // the shard that ran setup may be lost before teardown
		w.once.assignTeardown(s.Once)
	}
}

// checkLease pauses the worker if the lease has expired, and ends the pause if the lease was renewed. It reads the
// clock itself: if the process was stopped after the turn began, the time of the turn is too old.
//
// A paused worker sends nothing, and does not look at the slots that become due. When the lease is renewed, or the
// load or the run ends, it drops all slots of the pause. Updates take effect during a pause; then the worker drops the
// slots before the update. So if the operator gives the share of this worker to others and
// later lets it leave at that instant, the worker drops only the slots before that instant.
func (w *Worker) checkLease() {
	l := w.cfg.Lease
	end := l.end()
	if end == never || w.schedules.startAt == never {
		return
	}
	lapses := l.lapses.Load()
	expired := w.net.Now() >= end
	switch {
	case w.lease.paused:
	case expired:
		w.pause(end)
	case lapses != w.lease.lapses:
		w.pause(l.lapsedAt.Load())
	}
	if w.lease.paused && !expired {
		w.endGap(w.now)
		w.lease.resume(w.now)
	}
	w.lease.seen(lapses)
}

// pause stops sending because the lease expired at an instant.
func (w *Worker) pause(at int64) {
	w.lease.pause()
	if !w.schedules.Over() {
		w.lease.beginGap(max(at, w.schedules.startAt))
	}
	w.dropWaiting(never)
}

// endGap drops the slots of a pause that are due before an instant. The worker is still paused.
func (w *Worker) endGap(at int64) {
	if w.lease.paused {
		w.pickUpBefore(at)
		w.lease.countGap(at)
	}
}

// endPausedLoad ends the load when the last stage is over, because the lease may never be renewed.
func (w *Worker) endPausedLoad() {
	if w.now >= w.nextPickUp() {
		w.pickUpBefore(w.now + 1)
	}
	if w.schedules.Over() {
		w.lease.countGap(w.schedules.loadEnd())
	}
}
