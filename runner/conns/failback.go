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

// armFailback sets the timer of the next trial. It survives the socket, so that connections that live for one
// request only come back, too. The connection of a chain instance has none: the instance would lose it, and the next
// instance begins with the first endpoint in any case.
func (l *lifecycle) armFailback(c *Conn) {
	if c.role != place || !c.isFailedOver() || c.pool.Plan.Connecting.PerInstance {
		c.failbackAt = 0
		return
	}
	if c.failbackAt != 0 {
		return // set already
	}
	d := c.pool.Plan.Connecting.FailbackInterval
	if d == 0 {
		d = defaultFailback
	}
	c.failbackAt = l.now + int64(d)
	l.arm(c, failbackTimer, d)
}

// tryFirstEndpoint connects a trial to the first endpoint of a connection.
func (l *lifecycle) tryFirstEndpoint(c *Conn) {
	if c.role != place || !c.isFailedOver() || c.failures > 0 { // after a failure, all endpoints are tried in turn anyway
		c.failbackAt = 0
		l.armFailback(c)
		return
	}
	n := l.add(c.pool, c.number, failbackTrial, l.now)
	n.wasOpen, n.original, n.originalIncarnation = true, c, c.incarnation
	l.handle(n, wanted)
}

// originalOfTrial returns the connection that a trial is for; nil: it has ended, or has no place any more.
func (c *Conn) originalOfTrial() *Conn {
	if o := c.original; o.incarnation == c.originalIncarnation && o.role == place {
		return o
	}
	return nil
}

// endTrial lets the connection that a failed trial was for wait for the next one.
func (l *lifecycle) endTrial(trial *Conn) {
	if c := trial.originalOfTrial(); c != nil {
		c.failbackAt = 0
		l.armFailback(c)
	}
}

// isUsable returns whether a session that waits for SETTINGS can have requests. A trial waits for them also if it can
// send early data: only they prove the first endpoint.
func (c *Conn) isUsable() bool {
	if c.role == failbackTrial && c.h3 != nil {
		return c.h3.Settled()
	}
	return c.client.Ready()
}

// takePlaceOfOriginal gives the place to a trial that has proved the first endpoint, and removes the connection that
// had it. It returns false if the place is gone.
func (l *lifecycle) takePlaceOfOriginal(trial *Conn) bool {
	c := trial.originalOfTrial()
	if c == nil {
		return false
	}
	trial.role = place
	trial.downSince = l.now // until now the place had the other connection
	l.remove(c)
	return true
}
