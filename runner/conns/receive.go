package conns

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/netio"
)

// Ready handles one ready connection.
func (cs *Connections) Ready(ev *netio.Event) {
	c := cs.all[ev.Data]
	if !c.socket.IsOpen() {
		return
	}
	if ev.Writable && c.socket.AwaitsWritable() {
		if c.state == dialing && c.sentNothing && !ev.Readable { // an error is readable, too
			cs.connectedNow(c)
		}
		cs.write(c)
		c.pool.Offer(c)
	}
	if ev.Readable {
		cs.receive(c, ev.Ended)
	}
}

// maxReads bounds the reads from one connection in a turn, so that a fast connection cannot starve the
// others and the timers. Readiness is level-triggered: the poller reports the connection again for the rest.
const maxReads = 4

// receive reads and parses what has arrived on a connection. ended reports that the peer has sent its last octet:
// receive then reads all of it now, so that the worker notices the end and sends no more requests on the connection. A
// connection that is over is closed without another read: as the last read emptied the socket, this does not reset it.
func (cs *Connections) receive(c *Conn, ended bool) {
	for range maxReads {
		n, st := c.socket.Read(cs.read)
		if st == netio.Again {
			break
		}
		if c.state == dialing && st != netio.Closed {
			cs.connectedNow(c)
		}
		switch st {
		case netio.Ended:
			cs.peerEnded(c, c.socket.Secure == nil)
			return
		case netio.Closed:
			cs.lose(c, c.brokenBy(c.socket.Why()))
			return
		}
		cs.countOctets(c, 0, n)
		c.receivedAt, c.silentSince = cs.now, cs.now
		if !cs.take(c, cs.read[:n]) {
			return
		}
		if n < len(cs.read) && (!ended || c.isOver()) || cs.cfg.Late() {
			break
		}
	}
	cs.received(c)
}

// peerEnded handles a connection whose peer sends no more. In HTTP/1.1 a clean end may end a response (RFC 9112 6.3).
// Over TLS only close_notify is a clean end (RFC 9112 9.8).
func (l *lifecycle) peerEnded(c *Conn, clean bool) {
	l.ending = c.cause(rv.CauseClosed, "")
	if clean && c.h1 != nil {
		before := l.cfg.Demand.DoneInTurn()
		err := c.h1.Ended()
		l.noteResponse(c, before)
		if err != nil { // countEnd finds nothing in flight
			l.cfg.Log.Debug("a response was cut", "err", err)
			l.rec.CountFailure(rv.FailureConnection, l.ending)
		}
	}
	l.lose(c, l.ending)
}

// noteResponse handles the first response of a socket. before is how many responses the turn had completed before the
// session got the octets.
func (l *lifecycle) noteResponse(c *Conn, before int) {
	if l.cfg.Demand.DoneInTurn() > before && !c.answered {
		l.handle(c, responded)
	}
}

// take passes octets that were read to the session. It returns false if the connection is closed.
func (l *lifecycle) take(c *Conn, p []byte) (open bool) {
	before := l.cfg.Demand.DoneInTurn()
	sent, st, err := c.socket.Take(p, &l.plain, c.client, l.now)
	l.countOctets(c, sent, 0)
	l.noteResponse(c, before)
	if c.h3 != nil {
		l.countHandshake(c)
	}
	switch {
	case st == netio.Ended:
		l.peerEnded(c, true)
	case st == netio.Closed:
		l.lose(c, failure.Of(err, c.address))
	case err != nil:
		l.write(c) // the GOAWAY that says why
		l.lose(c, c.violation(err))
	default:
		if s := c.socket.Secure; s != nil && len(s.Pending()) > 0 { // a KeyUpdate's answer
			l.markDirty(c)
		}
		return true
	}
	return false
}

// received acts on the state of a session after a read: usable, draining, broken, or with octets to send.
func (l *lifecycle) received(c *Conn) {
	if c.state == opening && c.multiplexes() && c.isUsable() {
		l.timesOf(c).Settings.Record((l.now - c.since) / 1000)
		l.handle(c, usable)
	}
	switch {
	case c.state == closing: // it was opened to try the first URL again, and is already closed
		return
	case c.state == open && (c.client.Draining() || c.isWornOut()):
		l.countGoAway(c)
		l.handle(c, retired)
		return
	case c.state == draining:
		l.countAnnounced(c)
		l.drain(c)
		return
	case c.broken():
		l.lose(c, c.cause(rv.CauseClosed, ""))
		return
	}
	if c.h3 != nil && c.state == open && c.pool.newest == c {
		c.pool.countStreams()
	}
	if len(c.client.Pending()) > 0 {
		l.markDirty(c)
	}
	l.armReset(c)
	c.pool.Offer(c)
}
