package h2

import (
	"time"

	"golang.org/x/net/http2"
)

const (
	// answeredGrace is how long a server has at least to reset a stream whose
	// response came before the end of the request. It does so with the response.
	answeredGrace = 5 * time.Millisecond
	// budgetInterval is how often the budget is looked at while streams wait for
	// it: about as often as it gives a token.
	budgetInterval = 30 * time.Millisecond
)

// Cancel ends interest in a stream: RST_STREAM(CANCEL) within the budget, else
// the stream is abandoned: it stays counted against the limits until the peer
// ends it or ResetAbandoned does, the rest of its request is not sent, and its
// events are swallowed. There is no OnDone. An id that is not open any more is
// ignored.
func (c *Client) Cancel(id uint32, now int64) (reset bool) {
	s := c.streams.find(id)
	if s == nil || s.flags&abandoned != 0 {
		return false
	}
	if c.err != nil { // GOAWAY was the last frame
		c.drop(s)
		return false
	}
	if !c.resets.take(now) {
		c.abandon(s, overdue)
		if s.body != 0 {
			s.flags |= cut
			c.forgetBody(s)
		}
		return false
	}
	c.out.buf = AppendRSTStream(c.out.buf, id, http2.ErrCodeCancel)
	c.drop(s)
	return true
}

// abandon marks a stream that no one waits for; why is answered or overdue.
func (c *Client) abandon(s *stream, why requestState) {
	if s.flags&abandoned == 0 {
		c.abandoned++
	}
	if why == overdue {
		c.overdue++
	}
	s.flags |= abandoned | why
	s.want &^= WantHeaders | WantBody
}

// ResetAfter is when ResetAbandoned is to be called next; 0: no stream is
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

// ResetAbandoned resets abandoned streams as far as the budget allows. Answered
// ones are reset at the second call that finds them.
func (c *Client) ResetAbandoned(now int64) {
	if c.abandoned == 0 || c.err != nil {
		return
	}
	for i := range c.streams.ring {
		s := &c.streams.ring[i]
		switch {
		case s.id == 0 || s.flags&abandoned == 0:
		case s.flags&overdue == 0:
			c.abandon(s, overdue)
		case c.resets.take(now):
			code := http2.ErrCodeCancel
			if s.flags&answered != 0 {
				code = http2.ErrCodeNo // RFC 9113 8.1
			}
			c.out.buf = AppendRSTStream(c.out.buf, s.id, code)
			c.drop(s)
		}
	}
}

// checkBudget is called when the peer has answered. The connection drains when
// its budget is used up and too many streams are abandoned: more than an eighth
// of all, or than the budget gives back within a second. A new connection has a
// new budget. While the peer answers nothing, a new one would be no better.
func (c *Client) checkBudget() {
	if c.overdue > min(c.cfg.ResetsPerSecond, c.limit/8) && !c.resets.has(c.now) {
		c.draining = true
		c.setLimit()
	}
}
