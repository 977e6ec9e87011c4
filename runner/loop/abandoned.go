package loop

// armReset sets the timer that resets the streams that no one waits for. They count against the
// peer's limit until then.
func (cs *connections) armReset(c *conn) {
	if c.h2 != nil {
		cs.arm(c, resetTimer, c.h2.ResetAfter(cs.now))
	}
}

// resetAbandoned resets what the budget allows, or retires the connection. A response that came too late for its request
// shows that the peer works, too.
func (cs *connections) resetAbandoned(c *conn) {
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

// cancelled acts on a connection one of whose requests has timed out.
func (cs *connections) cancelled(c *conn) {
	cs.markDirty(c)
	cs.armReset(c)
	cs.offer(c)
	cs.drain(c)
}
