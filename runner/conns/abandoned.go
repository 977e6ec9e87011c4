package conns

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// armReset sets the timer that resets the streams that no one waits for. They count against the
// peer's limit until then.
func (cs *Connections) armReset(c *Conn) {
	if c.h2 != nil {
		cs.arm(c, resetTimer, c.h2.ResetAfter(cs.now))
	}
}

// resetAbandoned resets what the budget allows, or retires the connection. A response that came too late for its request
// shows that the peer works, too.
func (cs *Connections) resetAbandoned(c *Conn) {
	before := c.h2.Abandoned()
	c.h2.ResetAbandoned(cs.now)
	if !c.answered && c.h2.Answered() {
		cs.handle(c, responded)
	}
	if c.h2.Draining() {
		cs.handle(c, retired)
		return
	}
	if c.h2.Abandoned() < before {
		cs.markDirty(c)
		cs.offer(c)
	}
	cs.armReset(c)
}

// Cancel gives up a request that has timed out. It returns false if its stream is not reset now. Cancelled follows after the request
// has its outcome.
func (cs *Connections) Cancel(c *Conn, stream uint32) bool { return c.session.Cancel(stream, cs.now) }

// Cancelled acts on a connection one of whose requests has timed out.
func (cs *Connections) Cancelled(c *Conn) {
	if c.broken() {
		cs.lose(c, cs.brokenBy(c, rv.CauseOtherTimedOut, ""))
		return
	}
	cs.markDirty(c)
	cs.armReset(c)
	cs.offer(c)
	cs.drain(c)
}
