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
	if !w.stage.closedLoop() || w.requests.inUse < napInFlight || w.doneInTurn > w.requests.inUse/4 {
		return 0
	}
	d := min(time.Duration(w.service/napShare), longestNap)
	if d < shortestNap {
		return 0
	}
	return d
}

// observe keeps a moving average of the service time, over some 64 responses.
func (w *Worker) observe(service int64) {
	w.doneInTurn++
	w.service += (service - w.service) / 64
}
