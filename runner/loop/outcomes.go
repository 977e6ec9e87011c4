package loop

import (
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/notification"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/slots"
	"github.com/h2surge/h2surge/runner/tally"
)

// outcomes gives each request its one outcome, and each step that awaits a notification. Then the chain instance
// continues.
type outcomes struct {
	messages
	slots *slots.Slots
}

// abortReason is the reason that aborts a chain instance after such an outcome.
var abortReason = [...]string{tally.ByTimeout: rv.AbortTimedOut, tally.ByReset: rv.AbortReset,
	tally.ByLoss: rv.AbortConnectionLost}

// OnDone implements protocol.Handler. It ends a request, or queues it to be sent again.
func (o *outcomes) OnDone(token uint32, how protocol.Outcome) {
	id := book.ID(token)
	switch r := o.requests.At(id); {
	case how.Kind == protocol.Completed:
		o.finishDone(id)
	case how.Kind == protocol.Unprocessed:
		o.retry(id)
	case how.Kind == protocol.Refused && r.Refuse():
		o.retry(id)
	case how.Kind == protocol.Lost:
		o.finishFailed(id, tally.ByLoss, o.conns.Ending())
	default:
		o.finishFailed(id, tally.ByReset, resetCause(how))
	}
}

// finishDone counts a request with a whole response, and continues its chain.
func (o *outcomes) finishDone(id book.ID) {
	r := o.requests.At(id)
	s := &o.program.Steps[r.Step]
	failed := o.judge(r, s)
	if failed != "" && isRedirect(s, r.Status) {
		if o.mayFollow(r, s) {
			o.finishRedirected(id)
			return
		}
		failed = rv.CheckRedirect
	}
	if failed != "" {
		o.rec.SampleFailed(r, &o.flow.At(r.Instance).Instance, failed, o.now)
	}
	o.requests.Answered(r, o.now)
	o.rec.Done(r, failed, o.now)
	if s.Traced() {
		o.rec.SampleSlow(r, &o.flow.At(r.Instance).Instance, o.now)
	}
	why := ""
	switch {
	case failed != "":
		why = rv.AbortFailedCheck
	case o.captureFromMessage(r, s):
		why = rv.AbortMissingCapture
	}
	o.trial.Done(id, s, failed, why)
	pause := r.Pause()
	if s.Inspect && o.program.Chains[s.Chain].Scripted {
		last := o.scripts.last(r.Instance)
		*last = o.requests.Keep(r, *last)
	}
	o.flow.Ended(o.endRequest(id), why, int64(pause))
}

// finishRedirected counts a response that redirects its request, and sends the request again as a new one.
func (o *outcomes) finishRedirected(id book.ID) {
	r := o.requests.At(id)
	o.requests.Answered(r, o.now)
	o.rec.Done(r, "", o.now)
	o.trial.Redirected(id)
	o.flow.Redirected(o.endRequest(id))
}

// finishFailed counts a request without a whole response, and continues or aborts its chain.
func (o *outcomes) finishFailed(id book.ID, why tally.Unanswered, cause failure.Cause) {
	r := o.requests.At(id)
	if why != tally.ByLoss {
		o.requests.Progress(o.now)
	}
	o.rec.Failed(r, why, cause, o.conns.At(r.Conn).Address(), o.now)
	o.rec.SampleUnanswered(r, &o.flow.At(r.Instance).Instance, abortReason[why], o.now)
	o.trial.Failed(id, abortReason[why], cause)
	o.dropCaptures(r)
	o.flow.Ended(o.endRequest(id), abortReason[why], 0)
}

// resetCause returns why a request was reset or refused.
func resetCause(o protocol.Outcome) failure.Cause {
	switch {
	case strings.HasPrefix(o.Rule, h1.AnsweredHTTP2):
		return failure.Cause{Kind: rv.CauseHTTP2}
	case o.Rule != "":
		return failure.Cause{Kind: rv.CauseProtocol, Detail: o.Rule}
	}
	return failure.Cause{Kind: rv.CauseRstStream, Detail: protocol.CodeName(o.Code)}
}

// retry puts a request at the head of the queue again if the peer has not processed it (RFC 9113 8.7). The
// request keeps its due time and is not counted as sent again. If the peer refuses a request, the caller
// retries it only once. If the connection of a request ends, the request is retried each time until it has
// waited for MaxWait, because several connections may end together.
func (o *outcomes) retry(id book.ID) {
	r := o.requests.At(id)
	if !o.requests.MayRetry(r, o.now) {
		o.finishFailed(id, tally.ByLoss, gaveUp(o.conns.At(r.Conn)))
		return
	}
	o.rec.Retry(r)
	o.requests.GiveBack(id, o.conns.At(r.Conn).Address())
}

// gaveUp returns why a request is not sent again, with the words of the last GOAWAY of its connection.
func gaveUp(c *conns.Conn) failure.Cause {
	why := failure.Cause{Kind: rv.CauseGaveUpWaiting}
	if words, seen := c.GoAway(); seen {
		why.Detail = string(rv.CauseGoAway) + ": " + words
	}
	return why
}

// expire gives up the requests whose timeout has passed.
func (o *outcomes) expire() {
	for id := o.requests.Expired(o.now); id != book.None; id = o.requests.Expired(o.now) {
		r := o.requests.At(id)
		c := o.conns.At(r.Conn)
		if !c.Cancel(r.Stream, o.now) {
			o.rec.Abandon(r)
		}
		var why failure.Cause
		if o.program.Steps[r.Step].Deadline {
			why.Kind = rv.CauseDeadline
		}
		o.finishFailed(id, tally.ByTimeout, why)
		o.conns.Cancelled(c)
	}
}

// dropWaiting drops requests that have waited too long at an instant; at never, all of them.
func (o *outcomes) dropWaiting(at int64) {
	for i := range o.targets.Len() {
		until := at
		if p := o.conns.To(int32(i)); o.trial.GaveUp(p.Failures(), p.Plan) {
			until = never
		}
		var why failure.Cause
		for id := o.requests.PopOverdue(int32(i), until); id != book.None; id = o.requests.PopOverdue(int32(i), until) {
			if !why.Failed() {
				why = o.noStreamCause(i, at)
			}
			o.dropRequest(id, rv.AbortDropped, why)
		}
	}
	o.dropReserved(at)
}

// dropReserved is as dropWaiting, for the requests that wait for the connections of their chain instances.
func (o *outcomes) dropReserved(at int64) {
	for range o.requests.Reserved() {
		id := o.requests.PopReserved()
		if !o.requests.IsOverdue(id, at) {
			o.requests.Reserve(id)
			continue
		}
		o.dropRequest(id, rv.AbortDropped, o.noStreamCause(int(o.requests.At(id).Target), at))
	}
}

// dropRequest gives up a request that is not on any connection. One that the peer has given back was
// sent, so it is lost.
func (o *outcomes) dropRequest(id book.ID, why string, cause failure.Cause) {
	r := o.requests.At(id)
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
		o.rec.Failed(r, tally.ByLoss, lost, o.conns.At(r.Conn).Address(), o.now)
	case r.Stage >= 0:
		o.rec.Drop(int(r.Stage), cause, 1)
	}
	o.trial.Failed(id, why, cause)
	o.flow.Abort(o.endRequest(id).Instance, why)
}

// noStreamCause returns why the worker drops requests that wait for a stream to the i-th target. The parameter at is
// the time of the drop; the constant never means that the run was stopped.
func (o *outcomes) noStreamCause(i int, at int64) failure.Cause {
	switch {
	case at == never && o.slots.Paused():
		return failure.Cause{Kind: rv.CauseLeaseExpired}
	case at == never:
		return failure.Cause{Kind: rv.CauseStopped}
	}
	return o.conns.To(int32(i)).Cause()
}

// endRequest ends a request's record, and returns its activation.
func (o *outcomes) endRequest(id book.ID) chain.Activation {
	r := o.requests.At(id)
	a := r.Activation
	o.slots.Count(r.Stage, -1)
	o.requests.End(id)
	return a
}

// countAlways counts an always step of an instance: in the figures of the time after the load (late), or of the chain.
func (o *outcomes) countAlways(in *flow.Instance, late, sent bool) {
	switch {
	case in.Stage < 0:
	case late:
		o.rec.Graceful.Count(sent)
	case in.Measured:
		o.rec.Chains[in.Chain].Count(sent)
	}
}

// Arrived implements listen.Host.
func (o *outcomes) Arrived(to notification.Waiter, x *book.Exchange, at int64) bool {
	in, s := o.flow.At(to.Instance), &o.program.Steps[to.Step]
	took := max(0, at-to.Since)
	x.ResponseTime = took
	failed := s.Judge(&in.Instance, &x.Exchange)
	why := ""
	switch {
	case failed != "":
		why = rv.AbortFailedCheck
	case s.TakeCaptures(&in.Instance, &x.Exchange, nil):
		why = rv.AbortMissingCapture
	}
	if in.Measured {
		o.rec.Notified(s.Await.Listener, took, failed)
	}
	a := chain.Activation{Instance: to.Instance, Step: to.Step}
	o.trial.Notified(a, s, x, failed, why)
	o.requests.Progress(o.now)
	o.flow.Ended(a, why, 0)
	return failed != ""
}

// Missed implements listen.Host.
func (o *outcomes) Missed(of notification.Waiter) {
	a := chain.Activation{Instance: of.Instance, Step: of.Step}
	if o.flow.At(of.Instance).Measured {
		o.rec.Missed(o.program.Steps[of.Step].Await.Listener)
	}
	o.trial.Unsent(a, false, rv.AbortNotification)
	o.requests.Progress(o.now)
	o.flow.Ended(a, rv.AbortNotification, 0)
}
