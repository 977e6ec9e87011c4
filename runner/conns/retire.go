package conns

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// lose ends a connection, or an attempt to connect, for a cause; each of its requests gets its outcome. If the peer has
// sent GOAWAY, the cause is the code of that frame.
func (l *lifecycle) lose(c *Conn, why failure.Cause) {
	how := why.Kind
	if how == rv.CauseClosed || how == rv.CauseConnectionReset {
		why = c.orGoAway(why)
	}
	if connectingIn[c.state] != 0 {
		l.problem = c.describe() + ": " + why.Advised()
		c.pool.failures++
	}
	c.pool.disconnected(why)
	l.countEnd(c, how, why)
	l.closeSession(c, why)
	l.handle(c, l.endEvent(c, why.Kind == rv.CauseProtocol))
}

// closeSession gives each request on a connection its outcome.
func (l *lifecycle) closeSession(c *Conn, why failure.Cause) {
	if c.client == nil {
		return
	}
	l.ending = why
	c.client.Close()
	l.ending = failure.Cause{}
}

// endEvent returns the event of a connection that ends. A connection without a place is not replaced, however it ended.
// Broke: the peer broke the protocol.
func (l *lifecycle) endEvent(c *Conn, broke bool) connEvent {
	switch {
	case c.role != place:
		return removed
	case broke || l.isFailure(c):
		return failed
	}
	return ended
}

// isFailure says that the end of a connection is a failure, so that the next attempt waits and goes elsewhere:
// it could not be opened, the peer announced an error, or it took requests and answered none. A connection that
// ends before it was used has failed only if a request waited for it. One that has answered has not failed: if
// the peer is gone, the next attempt fails.
func (l *lifecycle) isFailure(c *Conn) bool {
	switch {
	case connectingIn[c.state] != 0 || c.announcedError():
		return true
	case c.answered:
		return false
	}
	return c.opened > 0 || l.isNeeded(c.pool)
}

// drain closes a draining connection whose last response has come. HTTP/1.1 keeps its place until then, so that
// no more connections are open than configured. So does a connection that has not answered yet: what it was
// worth shows when it has. Another connection takes the place of all others at once.
func (l *lifecycle) drain(c *Conn) {
	switch {
	case c.state != draining:
	case c.inFlight() == 0:
		l.shutdown(c)
		l.handle(c, l.endEvent(c, false))
	case c.role == place && c.multiplexes() && c.answered && !c.announcedError():
		l.handle(c, superseded)
	default:
		l.markDirty(c)
	}
}

// replace gives the place of a draining connection to a new one, which connects at once, or on demand.
func (l *lifecycle) replace(c *Conn) {
	n := l.add(c.pool, c.number, place, l.now)
	n.shift, n.failures, n.wasOpen = c.nextShift(), c.failures, c.wasOpen
	if n.failbackAt = c.failbackAt; n.failbackAt != 0 {
		l.arm(n, failbackTimer, max(1, time.Duration(n.failbackAt-l.now)))
	}
	c.role = surplus
	if !l.onDemand(c.pool) {
		l.handle(n, wanted)
		return
	}
	c.pool.addIdle(n)
	if l.isNeeded(c.pool) {
		l.cfg.SkipWait() // the next turn connects it
	}
}

// isNeeded returns true if a request would use another connection at once.
func (l *lifecycle) isNeeded(p *Pool) bool {
	return l.cfg.Demand.FillsStreams() || l.cfg.Demand.Waiting(p.target) > 0
}

// onDemand returns true if connections are opened only for requests that wait.
func (l *lifecycle) onDemand(p *Pool) bool { return l.cfg.Demand.Over() || p.Plan.Connecting.OnDemand }

// nextShift returns the shift of what follows in the place of a connection that has not failed. With PerInstance, the
// next chain instance begins with the first endpoint.
func (c *Conn) nextShift() int32 {
	if c.pool.Plan.Connecting.PerInstance {
		return 0
	}
	return c.shift
}

// remove ends a connection whose place is not needed any more.
func (l *lifecycle) remove(c *Conn) {
	l.makeSurplus(c)
	switch c.state {
	case open:
		l.handle(c, retired)
	case draining:
		l.drain(c)
	default:
		l.closeSession(c, c.cause(rv.CauseStopped, "")) // requests on it were not sent, and go to another
		l.handle(c, removed)
	}
}

// reopenAfter is how long a connection that ended before it was used stays closed, unless a request waits:
// servers that close connections without a request at once are not stormed with new ones.
const reopenAfter = 20 * time.Millisecond

// connectAgain lets a connection that has ended connect again: at once if it was used, on demand only when there is
// something to send.
func (l *lifecycle) connectAgain(c *Conn) {
	c.shift = c.nextShift()
	onDemand := l.onDemand(c.pool)
	if c.opened > 0 && !onDemand {
		l.handle(c, wanted)
		return
	}
	if !onDemand {
		l.arm(c, wantTimer, reopenAfter)
	}
	c.pool.addIdle(c)
}

// shutdown sends the peer the end of the connection.
func (l *lifecycle) shutdown(c *Conn) {
	c.client.Shutdown()
	l.write(c)
	l.countOctets(c, c.socket.CloseNotify(), 0)
}

// closeSocket closes the socket, if there is one, and makes the record's next attempt another generation.
func (l *lifecycle) closeSocket(c *Conn) {
	l.countOctets(c, 0, 0)
	c.socket.Close()
	c.generation++
	l.timers.end(c)
	c.pool.end(c)
}

// release ends a connection. Its record becomes free after the turn.
func (l *lifecycle) release(c *Conn) {
	if c.role == failbackTrial {
		l.endTrial(c)
	}
	l.makeSurplus(c)
	l.endAll(c)
	c.incarnation++
	l.ended = append(l.ended, c)
}
