package conns

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/netio"
)

// OpenAll makes the connections of a share to the targets of the plan, and begins to open them.
func (cs *Connections) OpenAll(s *rv.Share) {
	for t, n := range s.Connections {
		cs.Open(int32(t), n, s.FirstConnection[t], true)
	}
}

// Open makes n connections to a target, numbered from first, and begins to open them as fast as the target's ramp
// allows: connection k of the whole test is due in the period k / RampCount. If awaited, the worker is not ready before
// they are open. A target whose connections are opened on demand is not awaited.
func (cs *Connections) Open(t int32, n, first int, awaited bool) {
	how := &cs.pools[t].Plan.Connecting
	for k := first; k < first+n; k++ {
		c := cs.add(t, int32(k), place)
		if how.OnDemand {
			cs.addIdle(c)
			cs.cfg.SkipWait() // the worker may be ready without any event
			continue
		}
		if c.awaited = awaited; awaited {
			cs.awaited++
		}
		if awaited && how.RampCount > 0 && k >= how.RampCount {
			cs.arm(c, wantTimer, time.Duration(k/how.RampCount)*how.RampPeriod)
			continue
		}
		cs.handle(c, wanted)
	}
}

// Resize opens or removes connections to a target until n are left. New ones are numbered from first.
func (cs *Connections) Resize(t int32, n, first int, awaited bool) {
	var have []*Conn
	for _, c := range cs.all {
		if c.target == t && c.role == place {
			have = append(have, c)
		}
	}
	if more := n - len(have); more > 0 {
		cs.Open(t, more, first+len(have), awaited)
		return
	}
	for _, c := range have[n:] {
		cs.remove(c)
	}
}

// connect chooses endpoint and address by the connection's number and by how far it has moved on, and
// connects. Connection k starts at endpoint k modulo their number; the connections of one endpoint start at its
// addresses in turn.
func (cs *Connections) connect(c *Conn) {
	t := cs.pools[c.target].Plan
	c.generation++
	cs.endTimers(c)
	c.answered, c.sentNothing, c.opened, c.pingedAt = false, false, 0, 0
	n := int32(len(t.Endpoints))
	c.endpoint = (c.number + c.shift) % n
	address := c.number/n + c.shift/n
	if t.Connecting.NoFailover {
		c.endpoint, address = c.number%n, c.number/n+c.shift
	}
	c.address = t.Endpoints[c.endpoint].Address
	if c.wasOpen && c.failures == 0 && c.role == place && cs.connectNow(c, t) {
		return
	}
	if dial.IsResolved(c.address) {
		cs.handle(c, resolved)
	}
	cs.cfg.Dialer.Dial(netio.Attempt{
		Awaiter: awaiter{cs, c.index, c.generation}, Target: t, Endpoint: int(c.endpoint), Origin: int(cs.pools[c.target].Origin),
		Number: int(c.number), Address: int(address),
	})
}

// connectNow connects from the loop itself, which costs a third of what the dialer's goroutine does. Only a place
// that had an open connection before is connected so, because HTTP/1.1 requests are put on the connection before it
// is known to work. If it fails, they are put on another one.
func (cs *Connections) connectNow(c *Conn, t *rv.Target) bool {
	unknown := t.Protocol == rv.ProtocolDiscovered && len(t.Endpoints) > 1 // each endpoint may have another protocol
	if t.TLS != nil || unknown || len(t.Connecting.LocalAddresses) > 0 {
		return false
	}
	began := cs.net.Now()
	d, ok, err := cs.net.Connect(c.address, t.HTTP1.NoKeepAlive)
	if !ok {
		return false
	}
	cs.handle(c, resolved)
	if err != nil {
		cs.dialFailed(c, err)
		return true
	}
	d.Protocol = cs.pools[c.target].protocol
	if cs.adopt(c, d) {
		c.since = began
		cs.arm(c, connectTimer, t.ConnectTimeout)
		cs.markDirty(c)
		cs.offer(c)
	}
	return true
}

var eventOfStep = [...]connEvent{dial.Connecting: resolved, dial.Handshaking: accepted}

// awaiter is what a connection gives to the dialer for an attempt.
type awaiter struct {
	cs         *Connections
	conn       int32
	generation uint32
}

// Progress implements netio.Awaiter.
func (a awaiter) Progress(step dial.Step) { a.cs.cfg.Do(func() { a.progress(step) }) }

// Connected implements netio.Awaiter.
func (a awaiter) Connected(d *dial.Connection, err error) bool {
	return a.cs.cfg.Do(func() { a.connected(d, err) })
}

// connection returns the connection that awaits the attempt; nil: it has given the attempt up.
func (a awaiter) connection() *Conn {
	if c := a.cs.all[a.conn]; c.generation == a.generation {
		return c
	}
	return nil
}

func (a awaiter) progress(step dial.Step) {
	if c := a.connection(); c != nil {
		a.cs.handle(c, eventOfStep[step])
	}
}

func (a awaiter) connected(d *dial.Connection, err error) {
	switch c := a.connection(); {
	case c == nil && err == nil:
		d.Close()
	case c == nil:
	case err != nil:
		a.cs.dialFailed(c, err)
	default:
		a.cs.dialed(c, d)
	}
}

// dialed takes a connection of the dialer.
func (cs *Connections) dialed(c *Conn, d *dial.Connection) {
	if d.Address != "" {
		c.address = d.Address
	}
	if !cs.adopt(c, d) {
		return
	}
	cs.countDialed(c, d)
	cs.handle(c, connected)
	cs.markDirty(c)
	if c.socket.Secure != nil && !cs.receiveSecure(c) { // the handshake may have read more than its own records
		return
	}
	cs.received(c)
}

// dialFailed ends an attempt to connect.
func (cs *Connections) dialFailed(c *Conn, err error) {
	cs.lose(c, failure.Of(err, c.address))
}

// adopt makes a socket the worker's own and begins the session. It returns false if the connection has failed.
func (cs *Connections) adopt(c *Conn, d *dial.Connection) bool {
	socket, err := netio.Open(cs.net, d, c.index)
	if err != nil {
		cs.dialFailed(c, err)
		return false
	}
	c.socket, c.receivedAt = socket, cs.now
	cs.beginSession(c, d)
	return true
}

// awaitUsable is the action of a connected socket. HTTP/2 waits for the peer's SETTINGS. HTTP/1.1 is usable now, but a
// trial must stay open for trialTime, so that no working connection is replaced by one to a peer that accepts and closes.
func (cs *Connections) awaitUsable(c *Conn) {
	switch t := cs.pools[c.target].Plan; {
	case c.h2 != nil:
		cs.arm(c, connectTimer, t.ConnectTimeout)
	case c.role == failbackTrial:
		cs.arm(c, trialTimer, trialTime)
	default:
		cs.handle(c, usable)
	}
}

// becomeOpen makes a connection ready for requests.
func (cs *Connections) becomeOpen(c *Conn) {
	cs.pools[c.target].failures = 0
	c.beginTable(cs.pools[c.target].encoderTable)
	cs.pools[c.target].streams = int64(c.capacity())
	if c.role == failbackTrial && !cs.takePlaceOfOriginal(c) {
		cs.handle(c, removed)
		return
	}
	cs.stopAwaiting(c)
	c.wasOpen = true
	t := cs.pools[c.target].Plan
	cs.arm(c, ageTimer, t.Connecting.MaxAge)
	cs.arm(c, inactivityTimer, t.Connecting.InactivityTimeout)
	if c.h2 != nil {
		cs.arm(c, pingTimer, t.HTTP2.PingInterval)
	}
	cs.armFailback(c)
}

// The waits between attempts to connect double from the first to the last.
const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = time.Second
)

// backoffOf is how long a connection waits after its failures. With several endpoints, all are tried before the
// wait gets longer.
func (cs *Connections) backoffOf(c *Conn) time.Duration {
	rounds := (c.failures - 1) / cs.choices(c)
	return min(firstBackoff<<min(rounds, 10), lastBackoff)
}
