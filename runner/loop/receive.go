package loop

import (
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/extract"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/message"
)

// ready handles one ready connection.
func (w *Worker) ready(ev *Event) {
	c := &w.conns[ev.Data]
	if c.fd < 0 {
		return
	}
	if ev.Writable && c.watchesRoom {
		w.write(c)
		w.offer(c.index)
	}
	if ev.Readable {
		w.receive(c, ev.Ended)
	}
}

// maxReads bounds the reads from one connection in a turn, so that a fast connection cannot starve the
// others and the timers. Readiness is level-triggered: the poller reports the connection again for the rest.
const maxReads = 4

// receive reads and parses what has arrived on a connection. ended reports that the peer has sent its last octet:
// receive then reads all of it now, so that the worker notices the end and sends no more requests on the connection.
func (w *Worker) receive(c *conn, ended bool) {
	for range maxReads {
		n, st := w.net.Read(c.fd, w.read)
		if st == Again {
			break
		}
		if c.connectBegan != 0 && st != Closed {
			w.connectDone(c)
		}
		if st != OK {
			w.ended(c, st)
			return
		}
		w.rec.BytesReceived += int64(n)
		c.receivedAt = w.now
		if c.secure != nil {
			c.secure.Feed(w.read[:n])
			if !w.receiveSecure(c) {
				return
			}
		} else if !w.parse(c, w.read[:n]) {
			return
		}
		if n < len(w.read) && !ended || w.late() {
			break
		}
	}
	w.received(c)
}

// ended handles a connection that the peer has closed. In HTTP/1.1 a clean close may end a response
// (RFC 9112 6.3). Over TLS only close_notify is a clean close (RFC 9112 9.8); receiveSecure has handled it.
func (w *Worker) ended(c *conn, st Status) {
	why := w.brokenBy(c, rv.CauseClosed, "")
	if st == Ended {
		w.ending = why
		w.endResponse(c)
	} else {
		why = failure.Of(w.net.Why(), why.Address)
	}
	w.lose(c, why)
}

func (w *Worker) endResponse(c *conn) {
	if c.h1 == nil || c.secure != nil {
		return
	}
	w.current = c
	err := c.h1.Ended()
	w.current = nil
	if err != nil {
		w.cfg.Log.Debug("a response was cut", "err", err)
	}
}

// parse passes plaintext to the session. It returns false when the connection is closed.
func (w *Worker) parse(c *conn, p []byte) bool {
	w.current = c
	err := c.session.Receive(p, w.now)
	w.current = nil
	if err != nil {
		w.write(c) // the GOAWAY that says why
		w.lose(c, w.violation(c, err))
		return false
	}
	return true
}

// received acts on the state of a session after a read: usable, draining, broken, or with octets to send.
func (w *Worker) received(c *conn) {
	if c.state == opening && c.isUsable() {
		w.happen(c, usable)
	}
	switch {
	case c.state == closing: // it was opened to try the first URL again, and is already closed
		return
	case c.state == open && c.session.Draining():
		w.countGoAway(c)
		w.retire(c)
		return
	case c.state == draining:
		w.drain(c)
		return
	case c.broken():
		w.lose(c, w.brokenBy(c, rv.CauseClosed, ""))
		return
	}
	if len(c.session.Pending()) > 0 {
		w.touch(c)
	}
	w.watchAbandoned(c)
	w.offer(c.index)
}

// OnStatus implements h2.Handler.
func (w *Worker) OnStatus(tok uint32, status int) {
	r := &w.requests.all[tok]
	r.status = int16(status)
	r.first = w.now
}

// OnHeader implements h2.Handler. It stores the value of each capture of this field. If several fields have
// the same name, it stores the first.
func (w *Worker) OnHeader(tok uint32, name, value []byte) {
	r := &w.requests.all[tok]
	s := &w.program.Steps[r.step]
	in := w.instances.all[r.instance]
	if s.Cookies && string(name) == "set-cookie" {
		e := w.endpoint(&w.conns[r.conn])
		w.scratch = w.appendPath(w.scratch[:0], r, in, s, e)
		w.authority = append(w.authority[:0], e.Authority...)
		in.cookies.Set(w.wall(), e.Scheme == "https", w.authority, w.scratch, value)
	}
	if s.Inspect {
		r.exchange.field(name, value)
		return
	}
	if r.sampled {
		w.gatherField(r, name, value)
	}
	for i := range s.Captures {
		c := &s.Captures[i]
		if string(name) != c.Header || r.captured(i) {
			continue
		}
		if c.Location || c.Reference {
			if w.captureURI(r, in, s, c, value) {
				r.markCaptured(i)
			}
		} else if in.Capture(c.Slot, value) {
			r.markCaptured(i)
		}
	}
}

// captureURI resolves a reference against the target URI of the request (RFC 9110 10.2.2), and stores the
// result as the value of the capture.
func (w *Worker) captureURI(r *request, in *instance, s *chain.Step, c *chain.Capture, value []byte) bool {
	if isResolved(value) {
		return in.Capture(c.Slot, value)
	}
	e := w.endpoint(&w.conns[r.conn])
	w.scratch = w.appendPath(w.scratch[:0], r, in, s, e)
	return in.CaptureURI(c, e, w.scratch, value)
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

// causeLimit is how many octets of an error body are kept if no check or capture needs it and only countCause
// reads it.
const causeLimit = 8 << 10

// OnData implements h2.Handler.
func (w *Worker) OnData(tok uint32, p []byte) {
	r := &w.requests.all[tok]
	if r.exchange == nil {
		r.exchange = w.exchanges.alloc(causeLimit)
	}
	r.exchange.data(p)
}

// countCause counts problem details by their cause.
func (w *Worker) countCause(x *message.Exchange) {
	cause, ok := extract.Cause(w.scratch[:0], x.Response.Body)
	if ok {
		w.rec.Causes.AddBytes(cause, rv.MaxCauses, rv.CauseOther)
	}
}

// OnDone implements h2.Handler.
func (w *Worker) OnDone(tok uint32, o h2.Outcome) {
	out := outcomeOfH2[o.Kind]
	if out == givenBack && o.Code == http2.ErrCodeRefusedStream {
		out = refused
	}
	switch {
	case o.Rule != "":
		w.why = failure.Cause{Kind: rv.CauseProtocol, Detail: o.Rule}
	case out == wasReset, out == refused:
		w.why = failure.Cause{Kind: rv.CauseRstStream, Detail: o.Code.String()}
	}
	w.outcome(int32(tok), out)
}

// outcome ends a request, or queues it to be sent again.
func (w *Worker) outcome(tok int32, o outcome) {
	switch o {
	case completed:
		w.finishDone(tok)
	case givenBack:
		w.retry(tok)
	case refused:
		if r := &w.requests.all[tok]; r.refused {
			w.finishFailed(tok, byReset, w.why)
			return
		}
		w.requests.all[tok].refused = true
		w.retry(tok)
	case wasReset:
		w.finishFailed(tok, byReset, w.why)
	default:
		w.finishFailed(tok, byLoss, w.ending)
	}
}

// retry puts a request at the head of the queue again if the peer has not processed it (RFC 9113 8.7). The
// request keeps its due time and is not counted as sent again. If the peer refuses a request, the caller
// retries it only once. If the connection of a request ends, the request is retried each time until it has
// waited for MaxWait, because several connections may end together.
func (w *Worker) retry(tok int32) {
	r := &w.requests.all[tok]
	if w.now-r.picked >= int64(w.cfg.MaxWait) {
		w.finishFailed(tok, byLoss, failure.Cause{Kind: rv.CauseGaveUpWaiting})
		return
	}
	s := &w.program.Steps[r.step]
	w.expiries[s.TimeoutClass].remove(&w.requests, tok)
	if !r.retried && w.measured(r) {
		w.rec.Retried++
	}
	r.retried, r.state, r.first, r.status, r.captures = true, waiting, 0, 0, 0
	if r.exchange != nil {
		r.exchange.clear()
	}
	w.targets[r.target].waiting.pushFront(tok)
}
