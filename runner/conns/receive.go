package conns

import (
	"errors"
	"io"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
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
		if st != netio.OK {
			cs.peerClosed(c, st)
			return
		}
		cs.rec.BytesReceived += int64(n)
		c.receivedAt = cs.now
		if s := c.socket.Secure; s != nil {
			s.Feed(cs.read[:n])
			if !cs.receiveSecure(c) {
				return
			}
		} else if !cs.parse(c, cs.read[:n]) {
			return
		}
		if n < len(cs.read) && (!ended || c.isOver()) || cs.cfg.Late() {
			break
		}
	}
	cs.received(c)
}

// peerClosed handles a connection that the peer has closed. In HTTP/1.1 a clean close may end a response
// (RFC 9112 6.3). Over TLS only close_notify is a clean close (RFC 9112 9.8); receiveSecure has handled it.
func (cs *Connections) peerClosed(c *Conn, st netio.Status) {
	why := c.cause(rv.CauseClosed, "")
	if st == netio.Ended {
		cs.ending = why
		if c.socket.Secure == nil {
			cs.endResponse(c)
		}
	} else {
		why = failure.Of(cs.cfg.Net.Why(), why.Address)
	}
	cs.lose(c, why)
}

// endResponse ends a response that lasts until the peer closes.
func (l *lifecycle) endResponse(c *Conn) {
	if c.h1 == nil {
		return
	}
	before := l.cfg.Demand.DoneInTurn()
	err := c.h1.Ended()
	l.noteResponse(c, before)
	if err != nil {
		l.cfg.Log.Debug("a response was cut", "err", err)
	}
}

// noteResponse handles the first response of a socket. before is how many responses the turn had completed before the
// session got the octets.
func (l *lifecycle) noteResponse(c *Conn, before int) {
	if l.cfg.Demand.DoneInTurn() > before && !c.answered {
		l.handle(c, responded)
	}
}

// parse passes plaintext to the session. It returns false when the connection is closed.
func (l *lifecycle) parse(c *Conn, p []byte) bool {
	before := l.cfg.Demand.DoneInTurn()
	err := c.client.Receive(p, l.now)
	l.noteResponse(c, before)
	if err != nil {
		l.write(c) // the GOAWAY that says why
		l.lose(c, c.violation(err))
		return false
	}
	return true
}

// received acts on the state of a session after a read: usable, draining, broken, or with octets to send.
func (l *lifecycle) received(c *Conn) {
	if c.state == opening && c.h2 != nil && c.h2.Ready() {
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
		l.drain(c)
		return
	case c.broken():
		l.lose(c, c.cause(rv.CauseClosed, ""))
		return
	}
	if len(c.client.Pending()) > 0 {
		l.markDirty(c)
	}
	l.armReset(c)
	c.pool.Offer(c)
}

// receiveSecure decrypts and parses what has been fed; false: the connection is gone.
func (l *lifecycle) receiveSecure(c *Conn) bool {
	if l.plain == nil {
		l.plain = make([]byte, netio.PlainSize)
	}
	for {
		n, err := c.socket.Secure.Read(l.plain)
		if n > 0 && !l.parse(c, l.plain[:n]) {
			return false
		}
		if c.socket.IsFlooded() {
			if l.flushSecure(c); c.socket.IsFlooded() {
				l.lose(c, c.cause(rv.CauseProtocol, "no answer to KeyUpdate is read (RFC 8446 4.6.3)"))
				return false
			}
		}
		if errors.Is(err, dial.ErrMore) {
			break
		}
		if err != nil {
			l.flushSecure(c) // the alert that says why
			why := failure.Of(err, c.address)
			if errors.Is(err, io.EOF) {
				why = c.cause(rv.CauseClosed, "")
				l.ending = why
				l.endResponse(c)
			}
			l.lose(c, why)
			return false
		}
	}
	if len(c.socket.Secure.Pending()) > 0 { // a KeyUpdate's answer
		l.markDirty(c)
	}
	return true
}
