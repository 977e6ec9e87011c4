package loop

import (
	"math"
	"sync/atomic"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/runner/pace"
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
	return math.MaxInt64
}

// checkLease pauses the worker if the lease has expired, and ends the pause if the lease was renewed. It reads the
// clock itself: if the process was stopped after the turn began, the time of the turn is too old.
//
// A paused worker sends nothing, and does not look at the slots that become due. When the lease is renewed, or the
// load or the run ends, it drops all slots of the pause. Updates take effect during a pause; then the worker drops the
// slots before the update. So if the operator gives the share of this worker to others, and tells it later to leave at
// that instant, the worker drops only the slots before that instant.
func (w *Worker) checkLease() {
	l := w.cfg.Lease
	end := l.end()
	if end == never || w.startAt == never {
		return
	}
	lapses := l.lapses.Load()
	expired := w.net.Now() >= end
	switch {
	case w.paused:
	case expired:
		w.pause(end)
	case lapses != w.lapses:
		w.pause(l.lapsedAt.Load())
	}
	if w.paused && !expired {
		w.endGap(w.now)
		w.paused = false
	}
	w.lapses = lapses
}

// pause stops sending because the lease expired at an instant.
func (w *Worker) pause(at int64) {
	w.paused = true
	if !w.stage.over() {
		w.gapBegan = max(at, w.startAt)
		w.gaps.Count++
	}
	w.dropWaiting(never)
}

// endGap drops the slots of a pause that are due before an instant. The worker is still paused.
func (w *Worker) endGap(at int64) {
	if w.paused {
		w.pickUpBefore(at)
		w.countGap(at)
	}
}

// countGap adds the time until an instant to the length of the pauses, once for each pause.
func (w *Worker) countGap(at int64) {
	w.gaps = w.gapsAt(at)
	w.gapBegan = 0
}

// gapsAt returns the pauses up to an instant, including the current pause.
func (w *Worker) gapsAt(at int64) rv.LeaseGaps {
	g := w.gaps
	if w.gapBegan != 0 {
		g.Nanoseconds += max(0, at-w.gapBegan)
	}
	return g
}

// endPausedLoad ends the load when the last stage is over, because the lease may never be renewed.
func (w *Worker) endPausedLoad() {
	if w.now >= w.loadEnd() {
		w.pickUpBefore(w.now + 1)
	}
	if w.stage.over() {
		w.countGap(w.endedAt)
	}
}

// loadEnd is when the last stage ends if the worker sends nothing until then, or never.
func (w *Worker) loadEnd() int64 {
	s := &w.stage
	if s.suspended || s.over() {
		return never
	}
	end := s.end
	if s.index < 0 {
		end = w.startAt
	}
	for i := s.index + 1; i < len(s.rates) && end != never; i++ {
		end = endOf(&s.rates[i], end)
	}
	return end
}

// endOf is when a stage ends that begins at an instant, or never.
func endOf(r *rv.Rate, begin int64) int64 {
	end := int64(never)
	if r.Duration > 0 {
		end = begin + int64(r.Duration)
	}
	if !r.ClosedLoop && r.Requests > 0 {
		end = min(end, pace.Line{At: begin, Count: r.Count, Period: int64(r.Period)}.Due(r.Requests))
	}
	return end
}

// dropBefore drops the slots of the current stage that are due before an instant.
func (w *Worker) dropBefore(until int64) {
	s := &w.stage
	until = min(until, s.end)
	if s.nextDue >= until {
		return
	}
	next := min(s.quota, shard.CountBelow(s.slots, s.line.Before(until)))
	n := next - s.next
	s.next = next
	s.nextDue = s.due()
	w.gaps.Dropped += n
	w.rec.Stages[s.index].Slots += n
	w.countDroppedSlots(s.index, failure.Cause{Kind: rv.CauseLeaseExpired}, n)
}
