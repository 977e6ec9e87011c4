package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
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
		if c.state == dialing && st != Closed {
			w.connectedNow(c)
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
		w.requests.closing(why)
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
	before := w.requests.doneInTurn
	err := c.h1.Ended()
	w.current = nil
	c.noteResponses(w.requests.doneInTurn - before)
	if err != nil {
		w.cfg.Log.Debug("a response was cut", "err", err)
	}
}

// parse passes plaintext to the session. It returns false when the connection is closed.
func (w *Worker) parse(c *conn, p []byte) bool {
	w.current = c
	before := w.requests.doneInTurn
	err := c.session.Receive(p, w.now)
	w.current = nil
	c.noteResponses(w.requests.doneInTurn - before)
	if err != nil {
		w.write(c) // the GOAWAY that says why
		w.lose(c, w.violation(c, err))
		return false
	}
	return true
}

// noteResponses takes n complete responses as a sign that the connection works.
func (c *conn) noteResponses(n int) {
	if n > 0 {
		c.worked, c.failures = true, 0
	}
}

// received acts on the state of a session after a read: usable, draining, broken, or with octets to send.
func (w *Worker) received(c *conn) {
	if c.state == opening && c.h2 != nil && c.h2.Ready() {
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
