package slots

import (
	"sync/atomic"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/cacheline"
)

// Lease is how long workers may send requests. The zero Lease has no end. One goroutine at a time sets it; workers read
// it in each turn.
type Lease struct {
	_ cacheline.Pad
	// until is when the lease ends, in the workers' clock; zero: never.
	until atomic.Int64
	// lapses counts the renewals that came after the end of the lease. lapsedAt is that end, for the last of them. A
	// worker that had no turn in between learns from them that the lease had expired.
	lapses, lapsedAt atomic.Int64
	_                cacheline.Pad
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

// End returns when the lease ends, in the clock of the workers. A nil lease has no end.
func (l *Lease) End() int64 {
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
	// paused is true if the lease has expired: the worker sends nothing. expired is true if it had expired when Pause was
	// called.
	paused, expired bool
	// gapBegan is when the pause began, until its time is in gaps; else zero.
	gapBegan int64
	// resumedAt is the end of the last pause, or zero.
	resumedAt int64
	// gaps are the pauses so far.
	gaps rv.LeaseGaps
	// lapses is Lease.lapses in the last turn.
	lapses int64
}

// dropped counts slots that were due in a pause.
func (l *leaseState) dropped(n int64) { l.gaps.Dropped += n }

// check returns whether a pause begins, because the lease ended at an instant. It may have been renewed since then.
func (l *leaseState) check(lease *Lease, now int64) (at int64, begins bool) {
	at = lease.End()
	lapses := lease.lapses.Load()
	l.expired = now >= at
	switch {
	case l.paused:
	case l.expired:
		begins = true
	case lapses != l.lapses:
		at, begins = lease.lapsedAt.Load(), true
	}
	l.lapses = lapses
	return at, begins
}

// begin begins a pause. The gap in the load, if there is a load, began at an instant.
func (l *leaseState) begin(load bool, at int64) {
	l.paused = true
	if load {
		l.gapBegan = at
		l.gaps.Count++
	}
}

// countGap adds the time until an instant to the length of the pauses, once for each pause.
func (l *leaseState) countGap(at int64) {
	l.gaps = l.gapsAt(at)
	l.gapBegan = 0
}

// gapsAt returns the pauses up to an instant, including the current pause.
func (l *leaseState) gapsAt(at int64) rv.LeaseGaps {
	g := l.gaps
	if l.gapBegan != 0 {
		g.Nanoseconds += max(0, at-l.gapBegan)
	}
	return g
}

// resume ends the pause.
func (l *leaseState) resume(now int64) { l.paused, l.resumedAt = false, now }
