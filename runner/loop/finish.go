package loop

import (
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/protocol"
	"github.com/h2surge/h2surge/runner/tally"
)

// abortReason is the reason that aborts a chain instance after such an outcome.
var abortReason = [...]string{tally.ByTimeout: rv.AbortTimedOut, tally.ByReset: rv.AbortReset, tally.ByLoss: rv.AbortConnectionLost}

// finishDone counts a request with a whole response, and continues its chain.
func (w *Worker) finishDone(id book.ID) {
	r := w.requests.At(id)
	s := &w.program.Steps[r.Step]
	failed := w.judge(r, s)
	if failed != "" && isRedirect(s, r.Status) {
		if w.mayFollow(r, s) {
			w.finishRedirected(id)
			return
		}
		failed = rv.CheckRedirect
	}
	if failed != "" {
		w.rec.SampleFailed(r, &w.flow.At(r.Instance).Instance, failed, w.now)
	}
	w.requests.Answered(r, w.now)
	w.rec.Done(r, failed, w.now)
	if s.Traced() {
		w.rec.SampleSlow(r, &w.flow.At(r.Instance).Instance, w.now)
	}
	why := ""
	switch {
	case failed != "":
		why = rv.AbortFailedCheck
	case w.captureFromMessage(r, s):
		why = rv.AbortMissingCapture
	}
	w.trial.done(id, s, failed, why)
	pause := r.Pause()
	if s.Inspect && w.program.Chains[s.Chain].Scripted {
		last := w.scripts.last(r.Instance)
		*last = w.requests.Keep(r, *last)
	}
	w.flow.Ended(w.endRequest(id), why, int64(pause))
}

// finishRedirected counts a response that redirects its request, and sends the request again as a new one.
func (w *Worker) finishRedirected(id book.ID) {
	r := w.requests.At(id)
	w.requests.Answered(r, w.now)
	w.rec.Done(r, "", w.now)
	w.trial.redirected(id)
	w.flow.Redirected(w.endRequest(id))
}

// endRequest ends a request's record, and returns its activation.
func (w *Worker) endRequest(id book.ID) chain.Activation {
	r := w.requests.At(id)
	a := r.Activation
	w.slots.Count(r.Stage, -1)
	w.requests.End(id)
	return a
}

// finishFailed counts a request without a whole response, and continues or aborts its chain.
func (w *Worker) finishFailed(id book.ID, why tally.Unanswered, cause failure.Cause) {
	r := w.requests.At(id)
	if why != tally.ByLoss {
		w.requests.Progress(w.now)
	}
	w.rec.Failed(r, why, cause, w.conns.At(r.Conn).Address(), w.now)
	w.rec.SampleUnanswered(r, &w.flow.At(r.Instance).Instance, abortReason[why], w.now)
	w.trial.failed(id, abortReason[why], cause)
	w.flow.Ended(w.endRequest(id), abortReason[why], 0)
}

// OnDone implements protocol.Handler. It ends a request, or queues it to be sent again.
func (w *Worker) OnDone(token uint32, o protocol.Outcome) {
	id := book.ID(token)
	switch r := w.requests.At(id); {
	case o.Kind == protocol.Completed:
		w.finishDone(id)
	case o.Kind == protocol.Unprocessed:
		w.retry(id)
	case o.Kind == protocol.Refused && r.Refuse():
		w.retry(id)
	case o.Kind == protocol.Lost:
		w.finishFailed(id, tally.ByLoss, w.conns.Ending())
	default:
		w.finishFailed(id, tally.ByReset, resetCause(o))
	}
}

// resetCause returns why a request was reset or refused.
func resetCause(o protocol.Outcome) failure.Cause {
	switch {
	case strings.HasPrefix(o.Rule, h1.AnsweredHTTP2):
		return failure.Cause{Kind: rv.CauseHTTP2}
	case o.Rule != "":
		return failure.Cause{Kind: rv.CauseProtocol, Detail: o.Rule}
	}
	return failure.Cause{Kind: rv.CauseRstStream, Detail: o.Code.String()}
}

// retry puts a request at the head of the queue again if the peer has not processed it (RFC 9113 8.7). The
// request keeps its due time and is not counted as sent again. If the peer refuses a request, the caller
// retries it only once. If the connection of a request ends, the request is retried each time until it has
// waited for MaxWait, because several connections may end together.
func (w *Worker) retry(id book.ID) {
	r := w.requests.At(id)
	if !w.requests.MayRetry(r, w.now) {
		w.finishFailed(id, tally.ByLoss, gaveUp(w.conns.At(r.Conn)))
		return
	}
	w.rec.Retry(r)
	w.requests.GiveBack(id, w.conns.At(r.Conn).Address())
}

// gaveUp returns why a request is not sent again, with the words of the last GOAWAY of its connection.
func gaveUp(c *conns.Conn) failure.Cause {
	why := failure.Cause{Kind: rv.CauseGaveUpWaiting}
	if words, seen := c.GoAway(); seen {
		why.Detail = string(rv.CauseGoAway) + ": " + words
	}
	return why
}
