package loop

import "time"

// A server that answers in small pieces costs a closed loop a read for nearly each response. When
// many requests are in flight the worker may as well let some gather: it naps for a small part of
// the time that responses take anyway. Only a closed loop naps; paced requests have Grain.
const (
	// napShare of the average service time is how long a nap is at most, so that naps lengthen
	// the times measured by no more than 1/napShare.
	napShare = 32
	// shortestNap is what a nap must be to pay for its own system call and wake-up.
	shortestNap = 20 * time.Microsecond
	// longestNap bounds what timers and control wait for.
	longestNap = 4 * time.Millisecond
	// napInFlight is how many requests must be in flight, so that the peer has work meanwhile.
	napInFlight = 64
)

// nap is how long the worker should let responses gather before it looks for them.
func (w *Worker) nap() time.Duration {
	if !w.schedule.ClosedLoop() || w.requests.inUse < napInFlight || w.requests.doneInTurn > w.requests.inUse/4 {
		return 0
	}
	d := min(time.Duration(w.requests.serviceTime/napShare), longestNap)
	if d < shortestNap {
		return 0
	}
	return d
}

// idleFor is how long nothing will happen by itself, from the present instant and not from the turn's: a
// turn may have taken long.
func (w *Worker) idleFor() time.Duration {
	if w.skipsWait {
		return 0
	}
	next := min(w.nextPickUp(), w.chains.sleepers.next(), w.schedule.nextChange())
	next = min(next, w.nextExpiry(), w.conns.timers.next(), w.nextDrop(), w.deadline(), w.stallsAt())
	if !w.lease.paused {
		next = min(next, w.cfg.Lease.end())
	}
	switch {
	case next == never:
		return -1
	case next <= w.now:
		return 0
	}
	return time.Duration(max(0, next-w.net.Now()))
}
