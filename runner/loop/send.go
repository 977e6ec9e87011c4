package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// sendWaiting sends waiting requests, oldest first, as long as a stream is free.
func (w *Worker) sendWaiting() {
	for i := range w.targets {
		t := &w.targets[i]
		for t.waiting.len() > 0 {
			c := w.takeAvailable(t)
			if c == none {
				break
			}
			w.send(t.waiting.pop(), c)
		}
		w.wake(t)
	}
	w.dropWaiting(w.now)
}

// send renders a request on a connection that has a free stream. It returns false when a script that
// makes the request failed, so that there is none.
func (w *Worker) send(tok, ci int32) bool {
	r, c := &w.requests.all[tok], &w.conns[ci]
	s := &w.program.Steps[r.step]
	stream, ok := w.open(c, tok)
	if !ok {
		w.offer(ci)
		w.dropRequest(tok, rv.AbortScript, failure.Cause{Kind: rv.CauseScript})
		return false
	}
	r.stream, r.conn, r.state, r.sent = stream, ci, inFlight, w.now
	w.expiries[s.TimeoutClass].append(&w.requests, tok)
	w.touch(c)
	if c.opened++; c.opened == w.targets[c.target].plan.Connecting.MaxRequests {
		w.retiring = append(w.retiring, ci)
	} else {
		w.offer(ci)
	}
	if !r.retried {
		w.countSent(r, c)
	}
	return true
}

// countSent counts a request that is sent for the first time.
func (w *Worker) countSent(r *request, c *conn) {
	if r.stage < 0 {
		w.onceCounters(r.stage).Sent++
		return
	}
	st := &w.rec.Stages[r.stage]
	st.Sent++
	if w.stage.over() {
		st.SentInDrain++
	}
	if w.warm(r) {
		w.rec.WarmUpSent++
		return
	}
	w.rec.Steps[r.step].Sent++
	if r.attempt > 0 {
		w.rec.Steps[r.step].Retries++
	}
	down := c.downWithin(r.picked)
	w.rec.Reconnecting.Record(down / 1000)
	w.rec.Blocked.Record((r.sent - r.picked - down) / 1000)
}

// downWithin is for how much of the time from an instant until now an open connection was not open.
func (c *conn) downWithin(from int64) int64 {
	return max(0, c.openAt-max(from, c.downSince))
}

// dropWaiting drops requests that have waited too long at an instant; at never, all of them.
func (w *Worker) dropWaiting(at int64) {
	for i := range w.targets {
		t := &w.targets[i]
		var why failure.Cause
		for t.waiting.len() > 0 {
			tok := t.waiting.front()
			if at != never && w.requests.all[tok].due+int64(w.cfg.MaxWait) > at && !w.unreachable(t) {
				break
			}
			t.waiting.pop()
			if !why.Failed() {
				why = w.unsent(i, at)
			}
			w.dropRequest(tok, rv.AbortDropped, why)
		}
	}
}

// dropRequest gives up a request that is not on any connection. One that the peer has given back was
// sent, so it is lost.
func (w *Worker) dropRequest(tok int32, why string, cause failure.Cause) {
	r := &w.requests.all[tok]
	switch {
	case r.retried:
		w.countFailed(r, byLoss, failure.Cause{Kind: rv.CauseGaveUpWaiting, Address: cause.Address})
		why = rv.AbortConnectionLost
	case r.stage >= 0:
		w.countDropped(int(r.stage), cause)
	}
	if w.trial != nil {
		w.showFailed(tok, why, cause)
	}
	i := r.instance
	w.releaseRequest(tok)
	w.abortStep(i, why)
}

// nextDrop is when the first waiting request has waited too long.
func (w *Worker) nextDrop() int64 {
	next := int64(never)
	for i := range w.targets {
		if t := &w.targets[i]; t.waiting.len() > 0 {
			next = min(next, w.requests.all[t.waiting.front()].due+int64(w.cfg.MaxWait))
		}
	}
	return next
}
