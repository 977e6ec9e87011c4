package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/tally"
)

// sendWaiting sends waiting requests, oldest first, as long as a stream is free, and opens connections for the others.
func (w *Worker) sendWaiting() {
	for i := range w.targets.all {
		w.sendWaitingTo(int32(i))
		w.conns.ConnectFor(int32(i)) // a closed loop needs all connections
	}
	w.dropWaiting(w.now)
}

func (w *Worker) sendWaitingTo(target int32) {
	for w.requests.Waiting(target) > 0 {
		c := w.conns.Take(target)
		if c == nil {
			w.conns.ConnectFor(target)
			if c = w.conns.Take(target); c == nil { // one that the loop connects takes requests at once
				return
			}
		}
		w.send(w.requests.Pop(target), c)
	}
}

// send renders a request on a connection that has a free stream. It returns false if there is none: the script of the request failed, or
// the request limit is reached.
func (w *Worker) send(id book.ID, c *conns.Conn) bool {
	r := w.requests.At(id)
	s := &w.program.Steps[r.Step]
	if !w.limit.Allows(r.Admitted, r.Retried, w.now) {
		w.conns.Return(c)
		w.dropRequest(id, rv.AbortDropped, failure.Cause{Kind: rv.CauseRequestLimit})
		return false
	}
	stream, ok := w.open(c, id)
	if !ok {
		w.conns.Return(c)
		w.dropRequest(id, rv.AbortScript, w.scripts.cause(s))
		return false
	}
	w.requests.Sent(id, stream, c.Index(), w.now)
	w.flow.At(r.Instance).Sent(w.now)
	if !r.Retried {
		over := r.Stage >= 0 && w.slots.OfStage(int(r.Stage)).Over()
		w.rec.Sent(r, over, over && w.slots.Over(), w.conns.Down(c, r.Picked))
		if len(s.Credentials) > 0 && !w.targets.all[c.Target()].uncredentialed && w.authorizations.lack(s) {
			w.rec.SentWithout(s.Target)
		}
	}
	w.conns.Carried(c)
	return true
}

// dropWaiting drops requests that have waited too long at an instant; at never, all of them.
func (w *Worker) dropWaiting(at int64) {
	for i := range w.targets.all {
		until := at
		if w.trial.gaveUp(w.conns.Failures(int32(i)), w.targets.all[i].Plan) {
			until = never
		}
		var why failure.Cause
		for id := w.requests.PopOverdue(int32(i), until); id != book.None; id = w.requests.PopOverdue(int32(i), until) {
			if !why.Failed() {
				why = w.noStreamCause(i, at)
			}
			w.dropRequest(id, rv.AbortDropped, why)
		}
	}
}

// dropRequest gives up a request that is not on any connection. One that the peer has given back was
// sent, so it is lost.
func (w *Worker) dropRequest(id book.ID, why string, cause failure.Cause) {
	r := w.requests.At(id)
	switch {
	case r.Retried:
		lost := cause
		if why != rv.AbortScript { // else the script has failed for another endpoint
			if cause.Kind != rv.CauseNoConnection {
				cause.Detail = ""
			}
			lost = failure.Cause{Kind: rv.CauseGaveUpWaiting, Detail: cause.Detail, Address: r.GivenBackBy}
			why = rv.AbortConnectionLost
		}
		w.rec.Failed(r, tally.ByLoss, lost, w.conns.At(r.Conn).Address(), w.now)
	case r.Stage >= 0:
		w.rec.Drop(int(r.Stage), cause, 1)
	}
	w.trial.failed(id, why, cause)
	w.flow.Abort(w.endRequest(id).Instance, why)
}

// newRequest makes the request of a step. Due is the instant of its slot.
func (w *Worker) newRequest(a chain.Activation, target int32, due int64, stage int16) book.ID {
	id := w.requests.Add(a, target, due, w.now, stage)
	w.slots.Count(stage, 1)
	w.flow.BeginStep(a)
	return id
}

// admitLate makes requests of the steps that waited for a slot when the load ended, or for a lease. The time does not wait for a lease.
func (w *Worker) admitLate() {
	if !w.slots.Paused() && w.continuesChains() {
		w.flow.Release()
	}
}

// admitUnpaced makes requests of the ready steps that need no slot.
func (w *Worker) admitUnpaced() {
	for w.flow.HasUnpaced(w.slots.Paused()) && w.limit.Ready(w.now) {
		step := w.flow.Unpaced()
		in := w.flow.At(step.Instance)
		stage := in.Stage
		if in.Late {
			stage = book.StageGraceful
		}
		id := w.newRequest(step.Activation, step.Target, step.Since, stage)
		w.admit(id)
		w.requests.Wait(id)
	}
}

// admit gives a request the token of the request limit. It is due now if requests have waited for tokens.
func (w *Worker) admit(id book.ID) {
	admitted, waited := w.limit.Admit(w.now)
	r := w.requests.At(id)
	r.Admit(admitted)
	if waited {
		r.DueNow(w.now)
	}
}

// maxWaiting bounds the requests that wait for a stream on one worker, and so its memory: some
// 400 MB with their chain instances. Slots that come due beyond it are dropped at once.
const maxWaiting = 1 << 20

// expire gives up the requests whose timeout has passed.
func (w *Worker) expire() {
	for id := w.requests.Expired(w.now); id != book.None; id = w.requests.Expired(w.now) {
		r := w.requests.At(id)
		c := w.conns.At(r.Conn)
		if !w.conns.Cancel(c, r.Stream) {
			w.rec.Abandon(r)
		}
		w.finishFailed(id, tally.ByTimeout, failure.Cause{})
		w.conns.Cancelled(c)
	}
}

// noStreamCause returns why the worker drops requests that wait for a stream to the i-th target. The parameter at is
// the time of the drop; the constant never means that the run was stopped.
func (w *Worker) noStreamCause(i int, at int64) failure.Cause {
	switch {
	case at == never && w.slots.Paused():
		return failure.Cause{Kind: rv.CauseLeaseExpired}
	case at == never:
		return failure.Cause{Kind: rv.CauseStopped}
	}
	return w.conns.Cause(int32(i))
}
