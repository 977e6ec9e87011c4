package h2

import (
	"time"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

const (
	// answeredGrace is the minimum time that a server has to reset a stream whose
	// response came before the end of the request. Servers do so with the response.
	answeredGrace = 5 * time.Millisecond
	// budgetInterval is how often the owner checks the budget while streams wait
	// for it: about once for each reset that the default budget allows.
	budgetInterval = 30 * time.Millisecond
)

// Cancel ends the handler's interest in a stream. Within the budget, the session
// sends RST_STREAM(CANCEL). Otherwise the stream is abandoned: it counts against
// the limits until the peer ends it or ResetAbandoned does, the rest of its request
// is not sent, and the handler gets no events. There is no OnDone. Cancel ignores
// an id that is not open.
func (c *Client) Cancel(id uint32, now int64) (reset bool) {
	s := c.streams.find(id)
	switch {
	case s == nil || s.is(abandoned):
		return false
	case c.err != nil: // GOAWAY was the last frame
		c.drop(s)
		return false
	case c.resets.take(now):
		c.sendReset(id, http2.ErrCodeCancel)
		c.drop(s)
		return true
	}
	c.abandon(s)
	c.markOverdue(s)
	if s.body != 0 || s.is(unfinished) {
		s.flags |= cut
	}
	if s.body != 0 {
		c.forgetBody(s)
	}
	return false
}

// abandon ends the events of a stream.
func (c *Client) abandon(s *stream) {
	if !s.is(abandoned) {
		c.abandoned++
		s.flags |= abandoned
		s.want &= protocol.HeadRequest
	}
}

func (c *Client) markOverdue(s *stream) {
	c.overdue++
	s.flags |= overdue
}

// ResetAfter returns when the owner must call ResetAbandoned; 0: no stream is
// abandoned.
func (c *Client) ResetAfter(now int64) time.Duration {
	switch {
	case c.abandoned == 0:
		return 0
	case c.overdue < c.abandoned || c.resets.has(now):
		return answeredGrace
	}
	return budgetInterval
}

// ResetAbandoned resets abandoned streams as far as the budget allows. A stream
// whose response is complete is reset at the second call that finds it.
//
// The connection drains if too many streams are left that the peer passed over,
// because it had answered a newer one before the last call: more than an eighth of
// all, or more than the budget allows to reset in a second. A new connection has a
// new budget. While the peer does not answer, or is only late, a new connection
// would not help.
func (c *Client) ResetAbandoned(now int64) {
	if c.abandoned == 0 || c.err != nil {
		return
	}
	passedOver := 0
	for s := range c.streams.all {
		switch {
		case !s.is(abandoned):
		case !s.is(overdue):
			c.markOverdue(s)
		case c.resets.take(now):
			code := http2.ErrCodeCancel
			if s.is(remoteClosed) {
				code = http2.ErrCodeNo // RFC 9113 8.1
			}
			c.sendReset(s.id, code)
			c.drop(s)
		case s.id < c.answeredBefore:
			passedOver++
		}
	}
	c.answeredBefore = c.answered
	if passedOver > min(c.cfg.ResetsPerSecond, c.limit()/8) {
		c.draining = true
	}
}
