package conns

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
)

// connect chooses endpoint and address by the connection's number and by how far it has moved on, and
// connects. Connection k starts at endpoint k modulo their number; the connections of one endpoint start at its
// addresses in turn.
func (l *lifecycle) connect(c *Conn) {
	t := c.pool.Plan
	c.generation++
	l.timers.end(c)
	c.answered, c.errorCounted, c.sentNothing, c.opened, c.pingedAt = false, false, false, 0, 0
	n := int32(len(t.Endpoints))
	c.endpoint = (c.number + c.shift) % n
	address := c.number/n + c.shift/n
	if t.Connecting.NoFailover {
		c.endpoint, address = c.number%n, c.number/n+c.shift
	}
	c.address = t.Endpoints[c.endpoint].Address
	if c.wasOpen && c.failures == 0 && c.role == place && l.connectNow(c, t) {
		return
	}
	if dial.IsResolved(c.address) {
		l.handle(c, resolved)
	}
	l.cfg.Dialer.Dial(netio.Attempt{
		Awaiter: awaiter{l, c, c.generation}, Target: t, Endpoint: int(c.endpoint), Origin: int(c.pool.Origin),
		Number: int(c.number), Address: int(address),
	})
}

// connectNow connects from the loop itself, which costs a third of what the dialer's goroutine does. Only a place
// that had an open connection before is connected so, because HTTP/1.1 requests are put on the connection before it
// is known to work. If it fails, they are put on another one.
func (l *lifecycle) connectNow(c *Conn, t *rv.Target) bool {
	unknown := t.Protocol == rv.ProtocolDiscovered && len(t.Endpoints) > 1 // each endpoint may have another protocol
	if t.TLS != nil || unknown || len(t.Connecting.LocalAddresses) > 0 || t.Connecting.Interface != "" {
		return false
	}
	began := l.cfg.Net.Now()
	d, ok, err := l.cfg.Net.Connect(c.address, t.HTTP1.NoKeepAlive)
	if !ok {
		return false
	}
	l.handle(c, resolved)
	if err != nil {
		l.lose(c, failure.Of(err, c.address))
		return true
	}
	d.Protocol = c.pool.protocol
	if l.adopt(c, d) {
		c.since = began
		l.arm(c, connectTimer, t.ConnectTimeout)
		l.markDirty(c)
		c.pool.Offer(c)
	}
	return true
}

var eventOfStep = [...]connEvent{dial.Connecting: resolved, dial.Handshaking: accepted}

// awaiter is what a connection gives to the dialer for an attempt.
type awaiter struct {
	l          *lifecycle
	c          *Conn
	generation uint32
}

// Progress implements netio.Awaiter.
func (a awaiter) Progress(step dial.Step) { a.l.cfg.Do(func() { a.progress(step) }) }

// Connected implements netio.Awaiter.
func (a awaiter) Connected(d *dial.Connection, err error) bool {
	return a.l.cfg.Do(func() { a.connected(d, err) })
}

func (a awaiter) progress(step dial.Step) {
	if a.c.generation == a.generation {
		a.l.handle(a.c, eventOfStep[step])
	}
}

func (a awaiter) connected(d *dial.Connection, err error) {
	switch gaveUp := a.c.generation != a.generation; {
	case gaveUp && err == nil:
		d.Close()
	case gaveUp:
	case err != nil:
		a.l.lose(a.c, failure.Of(err, a.c.address))
	default:
		a.l.dialed(a.c, d)
	}
}

// dialed takes a connection of the dialer.
func (l *lifecycle) dialed(c *Conn, d *dial.Connection) {
	if d.Address != "" {
		c.address = d.Address
	}
	c.pool.addresses = d.Addresses
	if !l.adopt(c, d) {
		return
	}
	l.countDialed(c, d)
	l.handle(c, connected)
	l.markDirty(c)
	if c.socket.Secure != nil && !l.take(c, nil) { // the handshake may have read more than its own records
		return
	}
	l.received(c)
}

// adopt makes a socket the worker's own and begins the session. It returns false if the connection has failed.
func (l *lifecycle) adopt(c *Conn, d *dial.Connection) bool {
	socket, err := netio.Open(l.cfg.Net, d, c.index)
	if err != nil {
		l.lose(c, failure.Of(err, c.address))
		return false
	}
	c.socket, c.receivedAt, c.silentSince = socket, l.now, l.now
	c.pool.begin(c, d.Protocol, l.cfg.Handler)
	return true
}

// awaitUsable is the action of a connected socket. HTTP/2 and HTTP/3 wait for the peer's SETTINGS. HTTP/1.1 is usable
// now, but a trial must stay open for trialTime, so that no working connection is replaced by one to a peer that
// accepts and closes.
func (l *lifecycle) awaitUsable(c *Conn) {
	switch t := c.pool.Plan; {
	case c.multiplexes():
		l.arm(c, connectTimer, t.ConnectTimeout)
	case c.role == failbackTrial:
		l.arm(c, trialTimer, trialTime)
	default:
		l.handle(c, usable)
	}
}

// becomeOpen makes a connection ready for requests.
func (l *lifecycle) becomeOpen(c *Conn) {
	c.pool.failures = 0
	c.beginTable(c.pool.encoderTable)
	c.pool.newest = c
	c.pool.countStreams()
	if c.role == failbackTrial && !l.takePlaceOfOriginal(c) {
		l.handle(c, removed)
		return
	}
	l.stopAwaiting(c)
	c.wasOpen = true
	t := c.pool.Plan
	l.arm(c, ageTimer, t.Connecting.MaxAge)
	l.arm(c, inactivityTimer, t.Connecting.InactivityTimeout)
	if c.h2 != nil {
		l.arm(c, pingTimer, t.HTTP2.PingInterval)
	}
	l.armFailback(c)
}

// connectedNow handles the first octet that moved over a connection made by connectNow.
func (l *lifecycle) connectedNow(c *Conn) {
	if !c.sentNothing {
		took := (l.cfg.Net.Now() - c.since) / 1000
		l.timesOf(c).Connect.Record(took)
		l.timesOf(c).TCPConnect.Record(took)
	}
	l.countConnect(c)
	l.handle(c, connected)
}
