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
	limit   int  // of requests in flight; 0 when none may be opened
	forgot  int  // cancelled requests in the queue
	reused  bool // a response was completed
	closing bool // the connection ends with the response under way
	told    bool // ... and the peer has said so (RFC 9112 9.6)

	draining bool
	shut     bool
	broken   bool
}

// NewClient returns a session that is ready.
func NewClient(cfg Config, h protocol.Handler) *Client {
	c := &Client{h: h, cfg: cfg.withDefaults()}
	c.setLimit()
	return c
}

// Ready is true from the start: HTTP/1.1 has no preface.
func (c *Client) Ready() bool { return true }

// Free is how many requests may be opened now: 0 while draining, after
// Shutdown, Cancel or an error.
func (c *Client) Free() int { return max(0, c.limit-c.queue.count) }

// InFlight is how many requests still owe an OnDone.
func (c *Client) InFlight() int { return c.queue.count - c.forgot }

// Draining tells that no request can be opened any more: open another
// connection, and close this one when InFlight is 0. It is so after the head of
// a response that ends the connection, after the first Open with NoKeepAlive,
// and after Cancel.
func (c *Client) Draining() bool { return c.draining }

// Broken tells that the owner must close the connection now, because of a
// Cancel, an error or the peer's end.
func (c *Client) Broken() bool { return c.broken }

// Pending is what is to be sent, valid until the next call of any method but
// Wrote. More may follow it.
func (c *Client) Pending() []byte { return c.out.pending() }

// Wrote tells that the first n octets of Pending were sent. It must be told
// before what answers them is given to Receive: a response that comes before
// its request was sent is none (RFC 9112 9.2).
func (c *Client) Wrote(n int) { c.out.wrote(n) }

// Shutdown lets no request be opened any more; those in flight go on.
func (c *Client) Shutdown() {
	c.shut = true
	c.setLimit()
}

// Cancel forgets a request; it gets no OnDone. HTTP/1.1 has no way to take a
// request back but to close the connection (RFC 9112 9.5), so the session is
// Draining and Broken from now on, and all that comes is dropped. The other
// requests in flight end with Close. It returns false when there is no such
// request.
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
	c.out, c.queue, c.in = outBuffer{}, queue{}, reader{}
}

// breakOff: nothing of the connection is of use any more.
func (c *Client) breakOff() {
	c.draining, c.broken = true, true
	c.out.truncate(c.out.total)
	c.setLimit()
}

func (c *Client) setLimit() {
	c.limit = 0
	if !c.draining && !c.shut {
		c.limit = c.cfg.Pipeline
	}
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

// finishUnanswered ends the first request of the queue, of whose response there
// will be nothing. See Unprocessed.
func (c *Client) finishUnanswered() protocol.Kind {
	r := c.queue.at(0)
	k := protocol.Lost
	if r.start >= c.out.total || c.told || c.reused && r.state&idempotent != 0 {
		k = protocol.Unprocessed
	}
	c.finish(protocol.Outcome{Kind: k})
	return k
}
