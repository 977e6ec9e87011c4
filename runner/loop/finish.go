package loop

import (
	"bytes"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
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

// judge returns the name of the check that a response failed, or "".
func (w *Worker) judge(r *book.Request, s *chain.Step) string {
	x := w.requests.Complete(r, w.now)
	w.rec.Problem(r, x)
	if !s.Inspect {
		if s.Accepts(int(r.Status)) {
			return ""
		}
		return rv.CheckStatus
	}
	in := w.flow.At(r.Instance)
	failed := s.Judge(w.program, &in.Instance, w.sources, x)
	if failed == "" && !w.scripts.accepts(in, s, x) {
		return rv.CheckScript
	}
	return failed
}

// captureFromMessage runs the captures that need a whole response. It returns true if a required capture found no value.
func (w *Worker) captureFromMessage(r *book.Request, s *chain.Step) bool {
	if s.Inspect {
		in := w.flow.At(r.Instance)
		return s.TakeCaptures(w.program, &in.Instance, w.sources, &r.Exchange.Exchange)
	}
	for i := range s.Captures {
		if !r.Captured(i) && !s.Captures[i].Otherwise(&w.flow.At(r.Instance).Instance) {
			return true
		}
	}
	return false
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
	w.countFailed(r, why, cause)
	w.rec.SampleUnanswered(r, &w.flow.At(r.Instance).Instance, abortReason[why], w.now)
	w.trial.failed(id, abortReason[why], cause)
	w.flow.Ended(w.endRequest(id), abortReason[why], 0)
}

func (w *Worker) countFailed(r *book.Request, why tally.Unanswered, cause failure.Cause) {
	w.rec.Failed(r, why, cause, w.conns.At(r.Conn).Address(), w.now)
}

// OnStatus implements protocol.Handler.
func (w *Worker) OnStatus(tok uint32, status int) {
	w.requests.At(book.ID(tok)).Respond(status, w.now)
}

// OnHeader implements protocol.Handler. It stores the value of each capture of this field. If several fields have
// the same name, it stores the first.
func (w *Worker) OnHeader(tok uint32, name, value []byte) {
	r := w.requests.At(book.ID(tok))
	s := &w.program.Steps[r.Step]
	in := w.flow.At(r.Instance)
	if s.Cookies && string(name) == "set-cookie" {
		e := w.endpointOf(r)
		w.buffers.scratch = w.requests.AppendPath(w.buffers.scratch[:0], r, s, &in.Instance, e)
		w.buffers.authority = append(w.buffers.authority[:0], e.Authority...)
		in.Cookies.Set(w.wall(), e.Scheme == "https", w.buffers.authority, w.buffers.scratch, value)
	}
	if s.FollowRetryAfter && r.Status >= 300 && string(name) == "retry-after" {
		r.SetPause(time.Duration(chain.RetryAfter(value, w.wall())))
	}
	if s.LoadControl {
		r.NoteLoad(name)
	}
	redirects := isRedirect(s, r.Status)
	if redirects {
		w.takeRedirect(r, s, name, value)
	}
	if s.Inspect {
		w.requests.Field(r, name, value)
		return
	}
	if r.Sampled {
		w.requests.Gather(r, name, value)
	}
	if redirects {
		return // the request that follows has the values that this one had
	}
	for i := range s.Captures {
		c := &s.Captures[i]
		if string(name) != c.Header || r.Captured(i) {
			continue
		}
		if c.Location || c.Reference {
			if w.captureURI(r, in, s, c, value) {
				r.MarkCaptured(i)
			}
		} else if in.Capture(c.Slot, value) {
			r.MarkCaptured(i)
		}
	}
}

// isRedirect returns whether a response asks for the same request at another URI. Other statuses of class 3xx allow or
// require another method (RFC 9110 15.4).
func isRedirect(s *chain.Step, status int16) bool {
	return s.MaxRedirects > 0 && (status == 307 || status == 308)
}

// mayFollow returns whether a redirect can be followed: it has a Location, the step was not redirected too often, and
// the request may go to the authority that it names.
func (w *Worker) mayFollow(r *book.Request, s *chain.Step) bool {
	return r.Located && int(r.Hop) < s.MaxRedirects && w.targets.redirect(w.flow.At(r.Instance), s, r.Step) != flow.None
}

// takeRedirect stores a field of a redirect that says where the request goes next.
func (w *Worker) takeRedirect(r *book.Request, s *chain.Step, name, value []byte) {
	switch {
	case string(name) == "location":
		w.takeLocation(r, s, value)
	case s.RedirectField != nil && bytes.Equal(name, s.RedirectField):
		if !r.Rooted && w.flow.At(r.Instance).RedirectOf(r.Step).SetOrigin(value, r.Located) {
			r.SetRooted()
		}
	}
}

// takeLocation resolves the Location of a redirect against the URI of its request (RFC 9110 10.2.2). The first field
// counts if a response has several.
func (w *Worker) takeLocation(r *book.Request, s *chain.Step, value []byte) {
	if r.Located {
		return
	}
	in, e, b := w.flow.At(r.Instance), w.endpointOf(r), &w.buffers
	b.scratch = w.requests.AppendPath(b.scratch[:0], r, s, &in.Instance, e)
	b.authority = append(append(b.authority[:0], e.Scheme...), e.Authority...)
	n := len(e.Scheme)
	x := in.RedirectOf(r.Step)
	if x.Resolve(b.authority[:n], b.authority[n:], b.scratch, value) {
		r.SetLocated()
		x.SetOwn(w.targets.owns(r.Target, x.Scheme, x.Authority), r.Hop, r.Rooted)
	}
}

// endpointOf returns the endpoint that a request was sent to.
func (w *Worker) endpointOf(r *book.Request) *rv.Endpoint {
	return w.conns.EndpointOf(w.conns.At(r.Conn))
}

// captureURI resolves a reference against the target URI of the request (RFC 9110 10.2.2), and stores the
// result as the value of the capture.
func (w *Worker) captureURI(r *book.Request, in *flow.Instance, s *chain.Step, c *chain.Capture, value []byte) bool {
	if isResolved(value) {
		return in.Capture(c.Slot, value)
	}
	e := w.endpointOf(r)
	w.buffers.scratch = w.requests.AppendPath(w.buffers.scratch[:0], r, s, &in.Instance, e)
	return in.CaptureURI(c, e, w.buffers.scratch, value)
}

// isResolved reports that a reference is an absolute path, with or without a query, that resolving does not
// change: it has no scheme, authority, dot segment or fragment, and no octet to percent-encode. Most Location values are such paths.
func isResolved(value []byte) bool {
	if len(value) == 0 || value[0] != '/' || len(value) > 1 && value[1] == '/' {
		return false
	}
	before := byte(0)
	for _, c := range value {
		if c <= ' ' || c >= 0x7f || c == '#' || c == '.' && before == '/' {
			return false
		}
		before = c
	}
	return true
}

// OnData implements protocol.Handler.
func (w *Worker) OnData(tok uint32, p []byte) {
	if r := w.requests.At(book.ID(tok)); w.requests.Data(r, p) {
		w.logCut(r)
	}
}

// logCut logs the first body that a step needs and that is cut because of maxBodies.
func (w *Worker) logCut(r *book.Request) {
	w.cfg.Log.Warn("the response bodies that checks, captures and scripts read take too much memory; further ones are cut, fail the check maxBodyBytes, and are not logged; "+
		"fewer requests in flight or more shards need less", "step", w.program.Steps[r.Step].Name, "target", w.targets.all[r.Target].Plan.Name, "limitBytes", book.MaxBodies)
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
		w.finishFailed(id, tally.ByLoss, w.gaveUp(r))
		return
	}
	w.rec.Retry(r)
	w.requests.GiveBack(id, w.conns.At(r.Conn).Address())
}

// gaveUp returns why a request is not sent again, with the words of the last GOAWAY of its connection.
func (w *Worker) gaveUp(r *book.Request) failure.Cause {
	why := failure.Cause{Kind: rv.CauseGaveUpWaiting}
	if words, seen := w.conns.At(r.Conn).GoAway(); seen {
		why.Detail = string(rv.CauseGoAway) + ": " + words
	}
	return why
}
