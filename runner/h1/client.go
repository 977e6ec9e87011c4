package h1

import "github.com/h2surge/h2surge/runner/protocol"

// Client is the client side of one connection.
type Client struct {
	h     protocol.Handler
	out   outBuffer
	queue queue
	in    reader
	err   error // the session is over
	cfg   Config

	lastID  uint32
	forgot  int  // cancelled requests in the queue
	reused  bool // a response was completed
	closing bool // the connection ends with the current response
	closed  bool // ... because the response has "connection: close" (RFC 9112 9.6)

	draining bool
	shut     bool
	broken   bool
}

// NewClient returns a session that is ready.
func NewClient(cfg Config, h protocol.Handler) *Client {
	return &Client{h: h, cfg: cfg.withDefaults()}
}

// Ready is true from the start: HTTP/1.1 has no preface.
func (c *Client) Ready() bool { return true }

// Free returns how many requests may be opened now: 0 while draining, after
// Shutdown, Cancel or an error.
func (c *Client) Free() int {
	if c.draining || c.shut {
		return 0
	}
	return c.cfg.Pipeline - c.queue.count
}

// InFlight returns how many requests will get an OnDone.
func (c *Client) InFlight() int { return c.queue.count - c.forgot }

// Draining reports that no more requests can be opened: after the head of a
// response that ends the connection, after the first Open with NoKeepAlive, and
// after Cancel. The owner opens another connection, and closes this one when
// InFlight is 0.
func (c *Client) Draining() bool { return c.draining }

// Broken reports that the owner must close the connection now, because of a
// Cancel, an error or the peer's end.
func (c *Client) Broken() bool { return c.broken }

// Pending returns the octets to send. They are valid until the next call of a
// method. After Wrote, more may be pending.
func (c *Client) Pending() []byte { return c.out.pending() }

// Wrote drops the first n octets of Pending, which were sent. The owner
// calls it before it passes the response to Receive, because octets that arrive
// before their request was sent are not a response (RFC 9112 9.2).
func (c *Client) Wrote(n int) { c.out.wrote(n) }

// Shutdown ends the opening of requests. Those in flight continue.
func (c *Client) Shutdown() { c.shut = true }

// Cancel forgets a request, which gets no OnDone. In HTTP/1.1, only closing the
// connection cancels a request (RFC 9112 9.5). So the session is then Draining and
// Broken, and drops what it receives. Close ends the other requests in flight. It
// returns false if the request is not in flight.
func (c *Client) Cancel(id uint32, _ int64) (reset bool) {
	for i := range c.queue.count {
		if r := c.queue.at(i); r.id == id && r.state&cancelled == 0 {
			r.state |= cancelled
			c.forgot++
			c.breakOff()
			return true
		}
	}
	return false
}

// Close ends the session when the connection is gone. A request of which no octet was sent is Unprocessed, and every
// other request in flight is Lost.
func (c *Client) Close() {
	c.err = errOver
	c.breakOff()
	for c.queue.count > 0 {
		k := protocol.Lost
		if c.queue.at(0).start >= c.out.total {
			k = protocol.Unprocessed
		}
		c.finish(protocol.Outcome{Kind: k})
	}
}

// Reset makes the session that of a new connection, as NewClient with the same arguments does. It keeps the memory of
// the old one, so that a short connection allocates nothing, and the last head, which the next response probably has,
// too. Requests in flight get no OnDone.
func (c *Client) Reset() {
	*c = Client{h: c.h, cfg: c.cfg, out: c.out.emptied(), queue: c.queue.emptied(), in: c.in.emptied()}
}

// breakOff ends the use of the connection and discards what was not sent.
func (c *Client) breakOff() {
	c.draining, c.broken = true, true
	c.out.truncate(c.out.total)
}

// finish ends the first request of the queue and reports its outcome, unless it was cancelled.
func (c *Client) finish(o protocol.Outcome) {
	r := c.queue.pop()
	if r.state&cancelled != 0 {
		c.forgot--
		return
	}
	c.h.OnDone(r.tok, o)
}

// finishUnanswered ends the first request of the queue, which gets no response. See
// protocol.Unprocessed.
func (c *Client) finishUnanswered() protocol.Kind {
	r := c.queue.at(0)
	k := protocol.Lost
	if r.start >= c.out.total || c.closed || c.reused && r.state&idempotent != 0 {
		k = protocol.Unprocessed
	}
	c.finish(protocol.Outcome{Kind: k})
	return k
}
