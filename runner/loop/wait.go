package loop

import "time"

// A worker sleeps to save CPU time: a turn for many requests costs less than a turn for each. Requests at a rate are
// sent together once per sleep interval (slots.EarliestPickUp). A server that answers in small pieces costs a closed
// loop a read for nearly each response, so a closed loop with many requests in flight naps for a small part of the
// service time, but for at most the sleep interval. A worker that spins does neither.
const (
	// napShare of the average service time is how long a nap is at most, so that naps lengthen
	// the times measured by no more than 1/napShare.
	napShare = 32
	// shortestNap is what a nap must be to pay for its own system call and wake-up.
	shortestNap = 20 * time.Microsecond
	// napInFlight is how many requests must be in flight, so that the peer has work meanwhile.
	napInFlight = 64
	// napBatch is how many responses a ready connection brings in a turn at most for a nap. A server that answers in
	// larger pieces leaves nothing for a nap to gather.
	napBatch = 64
	// spinWithin is how long before its next task a worker starts to spin. It is much longer than the system needs to
	// wake a thread, and much shorter than the pauses in which a spinning worker would waste its CPU.
	spinWithin = 10 * time.Millisecond
)

// nap is how long the worker should let responses gather before it looks for them.
func (w *Worker) nap() time.Duration {
	inUse, done := w.requests.InUse(), w.requests.DoneInTurn()
	if w.cfg.Spin || !w.slots.ClosedLoop() || inUse < napInFlight || done > inUse/4 || done > napBatch*w.ready {
		return 0
	}
	d := min(time.Duration(w.requests.ServiceTime()/napShare), w.cfg.SleepInterval)
	if d < shortestNap {
		return 0
	}
	return d
}

// waitFor returns how long the worker waits for events: until its next task, or without a limit (negative). It counts
// from the present instant and not from the turn's, because a turn may have taken long. A worker that spins does not
// wait while a request is in flight, or while its next task is within spinWithin. So it does not wait while it sends
// load, and does not use its CPU before the start, while the load is suspended, and after the end.
func (w *Worker) waitFor() time.Duration {
	if w.clock.skipsWait || w.cfg.Spin && w.requests.InUse() > 0 {
		return 0
	}
	next := w.nextTask()
	switch {
	case next == never:
		return -1
	case next <= w.clock.now:
		return 0
	}
	d := time.Duration(next - w.net.Now())
	if w.cfg.Spin {
		d -= spinWithin
	}
	return max(0, d)
}

// nextTask returns when the worker must do something without an event.
func (w *Worker) nextTask() int64 {
	if w.chooser.hasUnslotted() || w.instances.releases() && w.flow.WaitsForSlot() {
		return w.clock.now
	}
	next := min(w.slots.Next(w.clock.now), w.deadline(), w.flow.Next(), w.chooser.limit.NextToken())
	// While requests are sent at a rate, timeouts wait for the next of them, at most for the sleep interval, so that they
	// do not wake the worker.
	next = min(next, max(w.requests.NextExpiry(), w.slots.EarliestPickUp()))
	next = min(next, w.conns.Next(), w.requests.NextOverdue(w.targets.Len()), w.chooser.nextStarved(), w.stall.next(),
		w.outcomes.calls.due(),
		w.listeners.Next(w.slots.Over()))
	if until := w.slots.GracefulUntil(w.cfg.GracefulStop); until > w.clock.now {
		next = min(next, until)
	}
	if !w.slots.Paused() {
		next = min(next, w.cfg.Lease.End())
	}
	return next
}
