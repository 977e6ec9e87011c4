package conns

import (
	"cmp"

	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// lose ends a connection, or an attempt to connect, for a cause; each of its requests gets its outcome.
func (cs *Connections) lose(c *Conn, why failure.Cause) {
	why = cs.countEnd(c, why)
	cs.closeSession(c, why)
	cs.handle(c, cs.endEvent(c, why.Kind == rv.CauseProtocol))
}

// closeSession gives each request on a connection its outcome.
func (cs *Connections) closeSession(c *Conn, why failure.Cause) {
	if c.session == nil {
		return
	}
	cs.closeFor(why)
	c.session.Close()
	cs.closeFor(failure.Cause{})
}

// endEvent returns the event of a connection that ends. A connection without a place is not replaced, however it ended.
// Broke: the peer broke the protocol.
func (cs *Connections) endEvent(c *Conn, broke bool) connEvent {
	switch {
	case c.role != place:
		return removed
	case broke || cs.isFailure(c):
		return failed
	}
	return ended
}

// isFailure says that the end of a connection is a failure, so that the next attempt waits and goes elsewhere:
// it could not be opened, the peer announced an error, or it took requests and answered none. A connection that
// ends before it was used has failed only if a request waited for it. One that has answered has not failed: if
// the peer is gone, the next attempt fails.
func (cs *Connections) isFailure(c *Conn) bool {
	switch {
	case connectingIn[c.state] != 0:
		return true
	case c.announcedError():
		return true
	case c.answered:
		return false
	case c.opened > 0:
		return true
	}
	return cs.isNeeded(c.target)
}

// isNeeded returns true if there is something to send to a target.
func (cs *Connections) isNeeded(target int32) bool {
	return cs.cfg.Demand.Waiting(target) > 0 || cs.cfg.Demand.FillsStreams()
}

// drain closes a draining connection whose last response has come. HTTP/1.1 keeps its place until then, so that
// no more connections are open than configured. So does a connection that has not answered yet: what it was
// worth shows when it has. Another connection takes the place of all others at once.
func (cs *Connections) drain(c *Conn) {
	switch {
	case c.state != draining:
	case c.session.InFlight() == 0:
		cs.shutdown(c)
		cs.handle(c, cs.endEvent(c, false))
	case c.role == place && c.h2 != nil && c.answered && !c.announcedError():
		cs.handle(c, superseded)
	default:
		cs.markDirty(c)
	}
}

// announcedError says that the peer has announced the connection's end by GOAWAY with an error.
func (c *Conn) announcedError() bool {
	if c.h2 == nil {
		return false
	}
	code, seen := c.h2.GoAway()
	return seen && code != http2.ErrCodeNo
}

// replace gives the place of a draining connection to a new one.
func (cs *Connections) replace(c *Conn) {
	n := cs.add(c.target, c.number, place)
	n.shift, n.failures, n.wasOpen = c.shift, c.failures, c.wasOpen
	if n.failbackAt = c.failbackAt; n.failbackAt != 0 {
		cs.arm(n, failbackTimer, max(1, time.Duration(n.failbackAt-cs.now)))
	}
	c.role = surplus
	cs.handle(n, wanted)
}

// remove ends a connection whose place is not needed any more.
func (cs *Connections) remove(c *Conn) {
	cs.makeSurplus(c)
	switch c.state {
	case open:
		cs.handle(c, retired)
	case draining:
		cs.drain(c)
	default:
		cs.closeSession(c, cs.brokenBy(c, rv.CauseStopped, "")) // requests on it were not sent, and go to another
		cs.handle(c, removed)
	}
}

// reopenAfter is how long a connection that ended before it was used stays closed, unless a request waits:
// servers that close idle connections at once are not stormed with new ones.
const reopenAfter = 20 * time.Millisecond

// connectAgain lets a connection that has ended connect again: at once if it was used, on demand only when there is
// something to send.
func (cs *Connections) connectAgain(c *Conn) {
	onDemand := cs.cfg.Demand.Over() || cs.pools[c.target].Plan.Connecting.OnDemand
	if c.opened > 0 && !onDemand {
		cs.handle(c, wanted)
		return
	}
	if !onDemand {
		cs.arm(c, wantTimer, reopenAfter)
	}
	cs.addIdle(c)
}

// addIdle puts an idle connection at the end of its target's queue.
func (cs *Connections) addIdle(c *Conn) {
	if !c.isIdle {
		c.isIdle = true
		cs.pools[c.target].idle.Push(c.index)
	}
}

// ConnectFor connects idle connections for the requests that wait: as many as their streams need beyond those that
// are connecting already. A closed loop needs all connections.
func (cs *Connections) ConnectFor(target int32) {
	t := &cs.pools[target]
	if t.idle.Len() == 0 {
		return
	}
	need := t.idle.Len()
	if !cs.cfg.Demand.FillsStreams() {
		per := max(1, t.Plan.MaxConcurrentStreams)
		if cmp.Or(t.protocol, t.Plan.Protocol) == rv.ProtocolHTTP1 {
			per = max(1, t.Plan.HTTP1.Pipeline)
		}
		need = (cs.cfg.Demand.Waiting(target)+per-1)/per - t.connecting
	}
	for ; need > 0 && t.idle.Len() > 0; need-- {
		c := cs.all[t.idle.Pop()]
		if c.isIdle = false; c.state == idle {
			cs.handle(c, wanted)
		} else {
			need++
		}
	}
}

// shutdown sends the peer the end of the connection.
func (cs *Connections) shutdown(c *Conn) {
	c.session.Shutdown()
	cs.write(c)
	cs.rec.BytesSent += int64(c.socket.CloseNotify())
}

// CloseAll ends every connection. Requests in flight stay so.
func (cs *Connections) CloseAll() {
	for _, c := range cs.all {
		if c.socket.IsOpen() {
			cs.shutdown(c)
		}
		if c.state != closing {
			cs.handle(c, removed)
		}
	}
}

// Carried notes that a request was put on a connection. The last one retires the connection; while the loop still
// connects, this waits for the response.
func (cs *Connections) Carried(c *Conn) {
	c.opened++
	cs.markDirty(c)
	switch {
	case !cs.isWornOut(c):
		cs.used(c)
	case c.state == open:
		cs.handle(c, retired)
	default:
		c.session.Shutdown()
	}
}
