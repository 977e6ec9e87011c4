package conns

import rv "github.com/h2surge/h2surge/api/runner/v1alpha1"

// resetAbandoned resets what the budget allows, or retires the connection. A response that came too late for its
// request shows that the peer works, too.
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
		c.pool.Offer(c)
	}
	cs.armReset(c)
}

// Cancelled acts on a connection one of whose requests has timed out. While the loop still connects, that is because of
// the connection.
func (cs *Connections) Cancelled(c *Conn) {
	if c.broken() {
		kind := rv.CauseOtherTimedOut
		if c.state == dialing {
			kind = rv.CauseConnectTimeout
		}
		cs.lose(c, c.cause(kind, ""))
		return
	}
	if c.inFlight() == 0 && c.silentSince > 0 {
		c.silentSince -= cs.now
	}
	cs.markDirty(c)
	cs.armReset(c)
	c.pool.Offer(c)
	cs.drain(c)
}
