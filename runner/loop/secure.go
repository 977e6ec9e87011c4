package loop

import (
	"errors"
	"io"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
)

// plainSize is one TLS record's plaintext (RFC 8446 5.1): what one Read of crypto/tls returns at
// most.
const plainSize = 16 << 10

// receiveSecure decrypts and parses what has been fed; false: the connection is gone.
func (w *Worker) receiveSecure(c *conn) bool {
	if w.plain == nil {
		w.plain = make([]byte, plainSize)
	}
	for {
		n, err := c.secure.Read(w.plain)
		if n > 0 && !w.parse(c, w.plain[:n]) {
			return false
		}
		if errors.Is(err, dial.ErrMore) {
			break
		}
		if err != nil {
			w.flushSecure(c) // the alert that says why
			why := failure.Of(err, c.address)
			if errors.Is(err, io.EOF) {
				why = w.brokenBy(c, rv.CauseClosed, "")
				w.requests.closing(why)
				w.closeNotified(c)
			}
			w.lose(c, why)
			return false
		}
	}
	if len(c.secure.Pending()) > 0 { // a KeyUpdate's answer
		w.touch(c)
	}
	return true
}

// secureAhead is how much is encrypted before the socket has taken it: three records. What is encrypted
// cannot be taken back when its request times out.
const secureAhead = 3 * plainSize

// writeSecure encrypts what the session has, piece by piece, and sends what the socket takes.
func (w *Worker) writeSecure(c *conn) {
	for w.flushSecure(c) {
		p := c.session.Pending()
		if len(p) == 0 {
			w.watchRoom(c, false)
			return
		}
		p = p[:min(len(p), secureAhead)]
		if err := c.secure.Write(p); err != nil {
			return // the next read tells
		}
		c.session.Wrote(len(p))
	}
}

// flushSecure sends what is encrypted; false: something is left.
func (w *Worker) flushSecure(c *conn) bool {
	for {
		p := c.secure.Pending()
		if len(p) == 0 {
			return true
		}
		n, st := w.net.Send(c.fd, p)
		switch st {
		case OK:
			c.secure.Sent(n)
			w.rec.BytesSent += int64(n)
		case Again:
			w.watchRoom(c, true)
			return false
		case Closed:
			w.watchRoom(c, false)
			return false
		}
	}
}

// closeNotified ends a response that lasts until the peer closes.
func (w *Worker) closeNotified(c *conn) {
	secure := c.secure
	c.secure = nil
	w.endResponse(c)
	c.secure = secure
}

func (w *Worker) closeNotify(c *conn) {
	if c.secure != nil {
		c.secure.CloseNotify()
		w.flushSecure(c)
	}
}
