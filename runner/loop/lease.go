package loop

import (
	"sync/atomic"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// Lease is how long workers may send requests. The zero Lease has no end. One goroutine at a time sets it; workers read
// it in each turn.
type Lease struct {
	// until is when the lease ends, in the workers' clock; zero: never.
	until atomic.Int64
	// lapses counts the renewals that came after the end of the lease. lapsedAt is that end, for the last of them. A
	// worker that had no turn in between learns from them that the lease had expired.
	lapses, lapsedAt atomic.Int64
}

// Set sets the first end of the lease.
func (l *Lease) Set(until int64) { l.until.Store(until) }

// Renew extends a lease that has an end, and never shortens it. It returns true if the lease had expired and is valid
// now: then call Do of all workers, so that they continue at once.
func (l *Lease) Renew(until, now int64) bool {
	was := l.until.Load()
	if was == 0 || until <= max(was, now) {
		return false
	}
	lapsed := now >= was
	if lapsed {
		l.lapsedAt.Store(was)
		l.lapses.Add(1)
	}
	l.until.Store(until) // last: a worker that sees it sees the lapse, too
	return lapsed
}

// Until returns when the lease ends; zero: there is no lease.
func (l *Lease) Until() int64 { return l.until.Load() }

// end is when the lease ends. A nil lease has no end.
func (l *Lease) end() int64 {
	if l == nil {
		return never
	}
	if until := l.until.Load(); until != 0 {
		return until
	}
	return never
}

// leaseState is what the worker has done about its lease.
type leaseState struct {
	// paused is true if the lease has expired: the worker sends nothing. gapBegan is when the pause began, until its time is
	// in gaps; else zero.
	paused   bool
	gapBegan int64
	// gaps are the pauses so far.
	gaps rv.LeaseGaps
	// lapses is Lease.lapses in the last turn.
	lapses int64
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
	if end == never || w.schedule.startAt == never {
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
		w.lease.paused = false
	}
	w.lease.lapses = lapses
}

// pause stops sending because the lease expired at an instant.
func (w *Worker) pause(at int64) {
	w.lease.paused = true
	if !w.schedule.Over() {
		w.lease.gapBegan = max(at, w.schedule.startAt)
		w.lease.gaps.Count++
	}
	w.dropWaiting(never)
}

// endGap drops the slots of a pause that are due before an instant. The worker is still paused.
func (w *Worker) endGap(at int64) {
	if w.lease.paused {
		w.pickUpBefore(at)
		w.countGap(at)
	}
}

// countGap adds the time until an instant to the length of the pauses, once for each pause.
func (w *Worker) countGap(at int64) {
	w.lease.gaps = w.gapsAt(at)
	w.lease.gapBegan = 0
}

// gapsAt returns the pauses up to an instant, including the current pause.
func (w *Worker) gapsAt(at int64) rv.LeaseGaps {
	g := w.lease.gaps
	if w.lease.gapBegan != 0 {
		g.Nanoseconds += max(0, at-w.lease.gapBegan)
	}
	return g
}

// endPausedLoad ends the load when the last stage is over, because the lease may never be renewed.
func (w *Worker) endPausedLoad() {
	if w.now >= w.nextPickUp() {
		w.pickUpBefore(w.now + 1)
	}
	if w.schedule.Over() {
		w.countGap(w.schedule.LoadEnd())
	}
}

// dropDue drops the slots of the current stage that are due before an instant.
func (w *Worker) dropDue(until int64) {
	stage := w.schedule.Stage()
	if n := w.schedule.Drop(until); n > 0 {
		w.lease.gaps.Dropped += n
		w.rec.Stages[stage].Slots += n
		w.countDroppedSlots(stage, failure.Cause{Kind: rv.CauseLeaseExpired}, n)
	}
}
