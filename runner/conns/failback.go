package conns

import "time"

// A connection that has moved on to another endpoint tries its first one again every failback interval. The
// trial is a connection of its own without a place: the working one stays until the trial has proved the first
// endpoint, and if that fails nothing has changed.

// defaultFailback is the failback interval of a plan that has none.
const defaultFailback = 5 * time.Second

// trialTime is how long a trial over HTTP/1.1 must stay open. HTTP/2 proves itself by SETTINGS; HTTP/1.1 has
// nothing that could be asked without a request.
const trialTime = 250 * time.Millisecond

// isFailedOver returns true if a connection does not use its first endpoint.
func (cs *Connections) isFailedOver(c *Conn) bool { return c.shift%cs.choices(c) != 0 }

// armFailback sets the timer of the next trial. It survives the socket, so that connections that live for one
// request only come back, too.
func (cs *Connections) armFailback(c *Conn) {
	if c.role != place || !cs.isFailedOver(c) {
		c.failbackAt = 0
		return
	}
	if c.failbackAt != 0 {
		return // set already
	}
	d := cs.pools[c.target].Plan.Connecting.FailbackInterval
	if d == 0 {
		d = defaultFailback
	}
	c.failbackAt = cs.now + int64(d)
	cs.arm(c, failbackTimer, d)
}

// tryFirstEndpoint connects a trial to the first endpoint of a connection.
func (cs *Connections) tryFirstEndpoint(c *Conn) {
	if c.role != place || !cs.isFailedOver(c) || c.failures > 0 { // after a failure, all endpoints are tried in turn anyway
		c.failbackAt = 0
		cs.armFailback(c)
		return
	}
	n := cs.add(c.target, c.number, failbackTrial)
	n.wasOpen, n.original, n.originalIncarnation = true, c, c.incarnation
	cs.handle(n, wanted)
}

// originalOf returns the connection that a trial is for; nil: it has ended, or has no place any more.
func (*Connections) originalOf(trial *Conn) *Conn {
	if c := trial.original; c.incarnation == trial.originalIncarnation && c.role == place {
		return c
	}
	return nil
}

// endTrial lets the connection that a failed trial was for wait for the next one.
func (cs *Connections) endTrial(trial *Conn) {
	if c := cs.originalOf(trial); c != nil {
		c.failbackAt = 0
		cs.armFailback(c)
	}
}

// takePlaceOfOriginal gives the place to a trial that has proved the first endpoint, and removes the connection that had
// it. It returns false if the place is gone.
func (cs *Connections) takePlaceOfOriginal(trial *Conn) bool {
	c := cs.originalOf(trial)
	if c == nil {
		return false
	}
	trial.role = place
	trial.downSince = cs.now // until now the place had the other connection
	cs.remove(c)
	return true
}
