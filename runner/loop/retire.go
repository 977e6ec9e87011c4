package loop

import (
	"time"

	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// lose ends a connection, or an attempt to connect, for a cause; each of its requests gets its outcome.
func (w *Worker) lose(c *conn, why failure.Cause) {
	why = w.countEnd(c, why)
	w.closeSession(c, why)
	w.happen(c, w.lossOf(c, why.Kind == rv.CauseProtocol))
}

// closeSession gives each request on a connection its outcome.
func (w *Worker) closeSession(c *conn, why failure.Cause) {
	if c.session == nil {
		return
	}
	w.current = c
	w.requests.closing(why)
	c.session.Close()
	w.current = nil
	w.requests.closing(failure.Cause{})
}

// lossOf says which event the loss of a connection is. A connection without a place is not replaced, however it
// ended. Broke: the peer broke the protocol.
func (w *Worker) lossOf(c *conn, broke bool) connEvent {
	switch {
	case !c.holdsPlace:
		return dropped
	case broke || w.isFailure(c):
		return failed
	}
	return ended
}

// isFailure says that the end of a connection is a failure, so that the next attempt waits and goes elsewhere:
// it could not be opened, the peer announced an error, or it took requests and answered none. A connection that
// ends before it was used has failed only if a request waited for it. One that has answered has not failed; if
// the peer is gone, the next attempt will tell.
func (w *Worker) isFailure(c *conn) bool {
	switch {
	case connectingIn[c.state] != 0:
		return true
	case c.announcedError():
		return true
	case c.worked:
		return false
	case c.opened > 0:
		return true
	}
	return w.wants(c.target)
}

// wants says that there is something to send to a target.
func (w *Worker) wants(target int32) bool {
	return w.requests.waitingFor(target) > 0 || w.stage.closedLoop()
}

// retire lets a connection finish what it has. It is called outside of parsing.
func (w *Worker) retire(c *conn) {
	w.happen(c, retired)
	w.drain(c)
}

// drain closes a draining connection whose last response has come. HTTP/1.1 keeps its place until then, so that
// no more connections are open than configured. So does a connection that has not answered yet: what it was
// worth shows when it has. Another connection takes the place of all others at once.
func (w *Worker) drain(c *conn) {
	switch {
	case c.state != draining:
	case c.session.InFlight() == 0:
		w.goodbye(c)
		w.happen(c, w.lossOf(c, false))
	case c.holdsPlace && c.h2 != nil && c.worked && !c.announcedError():
		w.happen(c, succeeded)
	default:
		w.touch(c)
	}
}

// announcedError says that the peer has announced the connection's end by GOAWAY with an error.
func (c *conn) announcedError() bool {
	if c.h2 == nil {
		return false
	}
	code, seen := c.h2.GoAway()
	return seen && code != http2.ErrCodeNo
}

// handOver gives the place of a draining connection to a new one. It may move all records.
func (w *Worker) handOver(c *conn) {
	i := c.index
	n := w.newConn(c.target, c.number)
	c = &w.conns[i]
	n.shift, n.failures, n.wasOpen, n.holdsPlace = c.shift, c.failures, c.wasOpen, true
	if n.failbackAt = c.failbackAt; n.failbackAt != 0 {
		w.arm(n, failbackTimer, max(1, time.Duration(n.failbackAt-w.now)))
	}
	c.holdsPlace = false
	w.happen(n, wanted)
}

// retireAll retires what this turn has found to be at its end. Connections that come to be so
// while bytes are parsed or requests are sent wait until then, because replacing one may move
// all records.
func (w *Worker) retireAll() {
	for _, i := range w.retiring {
		if c := &w.conns[i]; c.state == open {
			w.retire(c)
		}
	}
	w.retiring = w.retiring[:0]
}

// dismiss ends a connection whose place is not needed any more.
func (w *Worker) dismiss(c *conn) {
	w.giveUpPlace(c)
	switch c.state {
	case open:
		w.retire(c)
	case draining:
		w.drain(c)
	default:
		w.closeSession(c, w.brokenBy(c, rv.CauseStopped, "")) // requests that were put on it before it was open go back
		w.happen(c, dropped)
	}
}

// reopenAfter is how long a connection that ended before it was used stays closed, unless a request waits:
// servers that close idle connections at once are not stormed with new ones.
const reopenAfter = 20 * time.Millisecond

// rest lets a connection without a socket connect again: at once if it was used, on demand only when there is
// something to send.
func (w *Worker) rest(c *conn) {
	onDemand := w.stage.over() || w.targets[c.target].plan.Connecting.OnDemand
	if c.opened > 0 && !onDemand {
		w.happen(c, wanted)
		return
	}
	if !onDemand {
		w.arm(c, wantTimer, reopenAfter)
	}
	w.addResting(c)
	if w.wants(c.target) {
		w.skipWait() // let the next turn look, if this one has done so already
	}
}

// addResting puts an idle connection at the end of its target's queue of those that requests may wake.
func (w *Worker) addResting(c *conn) {
	if !c.resting {
		c.resting = true
		w.targets[c.target].resting.push(c.index)
	}
}

// wake connects idle connections for the requests that wait: as many as their streams need beyond those that
// are connecting already. A closed loop needs all connections.
func (w *Worker) wake(i int32) {
	t := &w.targets[i]
	if t.resting.len() == 0 {
		return
	}
	need := t.resting.len()
	if !w.stage.closedLoop() {
		per := max(1, t.plan.MaxConcurrentStreams)
		if t.plan.Protocol == rv.ProtocolHTTP1 {
			per = max(1, t.plan.HTTP1.Pipeline)
		}
		need = (w.requests.waitingFor(i)+per-1)/per - t.connecting
	}
	for ; need > 0 && t.resting.len() > 0; need-- {
		c := &w.conns[t.resting.pop()]
		if c.resting = false; c.state == idle {
			w.happen(c, wanted)
		} else {
			need++
		}
	}
}
