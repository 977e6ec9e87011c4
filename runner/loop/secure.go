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
func (cs *connections) receiveSecure(c *conn) bool {
	if cs.plain == nil {
		cs.plain = make([]byte, plainSize)
	}
	for {
		n, err := c.secure.Read(cs.plain)
		if n > 0 && !cs.parse(c, cs.plain[:n]) {
			return false
		}
		if errors.Is(err, dial.ErrMore) {
			break
		}
		if err != nil {
			cs.flushSecure(c) // the alert that says why
			why := failure.Of(err, c.address)
			if errors.Is(err, io.EOF) {
				why = cs.brokenBy(c, rv.CauseClosed, "")
				cs.requests.closing(why)
				cs.closeNotified(c)
			}
			cs.lose(c, why)
			return false
		}
	}
	if len(c.secure.Pending()) > 0 { // a KeyUpdate's answer
		cs.markDirty(c)
	}
	return true
}

// secureAhead is how much is encrypted before the socket has taken it: three records. What is encrypted
// cannot be taken back when its request times out.
const secureAhead = 3 * plainSize

// writeSecure encrypts what the session has, piece by piece, and sends what the socket takes.
func (cs *connections) writeSecure(c *conn) {
	for cs.flushSecure(c) {
		p := c.session.Pending()
		if len(p) == 0 {
			cs.awaitWritable(c, false)
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
func (cs *connections) flushSecure(c *conn) bool {
	for {
		p := c.secure.Pending()
		if len(p) == 0 {
			return true
		}
		n, st := cs.net.Send(c.fd, p)
		switch st {
		case OK:
			c.secure.Sent(n)
			cs.rec.BytesSent += int64(n)
		case Again:
			cs.awaitWritable(c, true)
			return false
		case Closed:
			cs.awaitWritable(c, false)
			return false
		}
	}
}

// closeNotified ends a response that lasts until the peer closes.
func (cs *connections) closeNotified(c *conn) {
	secure := c.secure
	c.secure = nil
	cs.endResponse(c)
	c.secure = secure
}

func (cs *connections) closeNotify(c *conn) {
	if c.secure != nil {
		c.secure.CloseNotify()
		cs.flushSecure(c)
	}
}
