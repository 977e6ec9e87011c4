package loop

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
)

// connectAll begins to open every connection of the share, as fast as the target's ramp allows:
// connection k of the whole test is due in the period k / RampCount. A target whose connections are opened on
// demand is not awaited.
func (w *Worker) connectAll() {
	for t, n := range w.cfg.Share.Connections {
		for k := range n {
			w.openPlace(int32(t), int32(w.cfg.Share.FirstConnection[t]+k), true)
		}
	}
}

// openPlace makes a connection and begins to open it. Awaited: the worker is not ready before the connection is.
func (w *Worker) openPlace(t, number int32, awaited bool) {
	c := w.newPlace(t, number)
	how := &w.targets[t].plan.Connecting
	if how.OnDemand {
		w.addResting(c)
		w.skipWait() // the worker may be ready without any event
		return
	}
	if c.awaited = awaited; awaited {
		w.unready++
	}
	if how.RampCount > 0 && w.run.phase == Connecting {
		if delay := time.Duration(int(number)/how.RampCount) * how.RampPeriod; delay > 0 {
			w.arm(c, wantTimer, delay)
			return
		}
	}
	w.happen(c, wanted)
}

// connect chooses endpoint and address by the connection's number and by how far it has moved on, and
// connects. Connection k starts at endpoint k modulo their number; the connections of one endpoint start at its
// addresses in turn.
func (w *Worker) connect(c *conn) {
	t := w.targets[c.target].plan
	c.generation++
	c.armed &= recordTimers
	c.worked, c.opened, c.pingedAt = false, 0, 0
	n := int32(len(t.Endpoints))
	c.endpoint = (c.number + c.shift) % n
	address := c.number/n + c.shift/n
	if t.Connecting.NoFailover {
		c.endpoint, address = c.number%n, c.number/n+c.shift
	}
	c.address = t.Endpoints[c.endpoint].Address
	if c.wasOpen && c.failures == 0 && c.holdsPlace && w.connectNow(c, t) {
		return
	}
	if dial.IsResolved(c.address) {
		w.happen(c, resolved)
	}
	w.cfg.Dialer.Dial(w, DialRequest{
		Conn: c.index, Generation: c.generation, Target: t, Endpoint: int(c.endpoint), Origin: int(w.targets[c.target].origin),
		Number: int(c.number), Address: int(address),
	})
}

// connectNow connects from the loop itself, which costs a third of what the dialer's goroutine does. Only a place
// that had an open connection before is connected so, because HTTP/1.1 requests are put on the connection before it
// is known to work. If it fails, they are put on another one.
func (w *Worker) connectNow(c *conn, t *rv.Target) bool {
	if t.TLS != nil || len(t.Connecting.LocalAddresses) > 0 {
		return false
	}
	began := w.net.Now()
	d, ok, err := w.net.Connect(c.address, t.HTTP1.NoKeepAlive)
	if !ok {
		return false
	}
	w.happen(c, resolved)
	if err != nil {
		w.dialFailed(c, err)
		return true
	}
	d.Protocol = t.Protocol
	if w.adopt(c, d) {
		c.since = began
		w.arm(c, connectTimer, t.ConnectTimeout)
		w.touch(c)
		w.offer(c.index)
	}
	return true
}

// connectedNow handles the first octet that moved over a connection made by connectNow.
func (w *Worker) connectedNow(c *conn) {
	w.countConnect(c, w.net.Now()-c.since)
	w.happen(c, connected)
}

func (w *Worker) countConnect(c *conn, took int64) {
	w.rec.Connect.Record(took / 1000)
	w.rec.Connects++
	if c.wasOpen {
		w.rec.Reconnects++
	}
}

// Progress reports that the dialer has begun the next step of an attempt; any goroutine may call it.
func (w *Worker) Progress(r DialRequest, step dial.Step) {
	w.Do(func(w *Worker) {
		if c := &w.conns[r.Conn]; w.run.phase != Done && c.generation == r.Generation {
			w.happen(c, eventOfStep[step])
		}
	})
}

var eventOfStep = [...]connEvent{dial.Connecting: resolved, dial.Handshaking: accepted}

// Connected brings the outcome of a Dial; any goroutine may call it. It returns false when the
// worker has ended, so that the caller closes the socket.
func (w *Worker) Connected(r DialRequest, d *dial.Connection, err error) bool {
	return w.Do(func(w *Worker) { w.connected(r, d, err) })
}

func (w *Worker) connected(r DialRequest, d *dial.Connection, err error) {
	c := &w.conns[r.Conn]
	if w.run.phase == Done || c.generation != r.Generation {
		if err == nil {
			d.Close()
		}
		return
	}
	if err != nil {
		w.dialFailed(c, err)
		return
	}
	if d.Address != "" {
		c.address = d.Address
	}
	if !w.adopt(c, d) {
		return
	}
	w.countConnect(c, int64(d.Took))
	w.happen(c, connected)
	w.touch(c)
	if c.secure != nil && !w.receiveSecure(c) { // the handshake may have read more than its own records
		return
	}
	w.received(c)
}

// dialFailed ends an attempt to connect.
func (w *Worker) dialFailed(c *conn, err error) {
	w.lose(c, failure.Of(err, c.address))
}

// adopt makes a socket the worker's own and begins the session. It returns false if the connection has failed.
func (w *Worker) adopt(c *conn, d *dial.Connection) bool {
	fd, err := w.net.Adopt(d, c.index)
	if err != nil {
		w.dialFailed(c, err)
		return false
	}
	c.fd, c.secure, c.receivedAt = fd, d.Secure, w.now
	w.speak(c, d)
	return true
}

// awaitUsable is the action of a connected socket. HTTP/2 waits for the peer's SETTINGS. HTTP/1.1 is usable now, but a
// trial must stay open for trialTime, so that no working connection is replaced by one to a peer that accepts and closes.
func (w *Worker) awaitUsable(c *conn) {
	switch t := w.targets[c.target].plan; {
	case c.h2 != nil:
		w.arm(c, connectTimer, t.ConnectTimeout)
	case c.trialOf != none:
		w.arm(c, trialTimer, trialTime)
	default:
		w.happen(c, usable)
	}
}

// takeUp makes a connection ready for requests.
func (w *Worker) takeUp(c *conn) {
	w.targets[c.target].failures = 0
	c.beginTable(w.targets[c.target].encoderTable)
	w.targets[c.target].streams = int64(c.free())
	if c.trialOf != none && !w.replaceByTrial(c) {
		w.happen(c, dropped)
		return
	}
	w.stopAwaiting(c)
	c.wasOpen = true
	t := w.targets[c.target].plan
	if c.opened > 0 && c.opened == t.Connecting.MaxRequests { // all of them while the loop connected
		w.retiring = append(w.retiring, c.index)
	}
	w.arm(c, ageTimer, t.Connecting.MaxAge)
	w.arm(c, inactivityTimer, t.Connecting.InactivityTimeout)
	if c.h2 != nil {
		w.arm(c, pingTimer, t.HTTP2.PingInterval)
	}
	w.armFailback(c)
}

// The waits between attempts to connect double from the first to the last.
const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = time.Second
)

// backoffOf is how long a connection waits after its failures. With several endpoints, all are tried before the
// wait gets longer.
func (w *Worker) backoffOf(c *conn) time.Duration {
	rounds := (c.failures - 1) / w.choices(c)
	return min(firstBackoff<<min(rounds, 10), lastBackoff)
}

// choices is how many endpoints a connection may use.
func (w *Worker) choices(c *conn) int32 {
	t := w.targets[c.target].plan
	if t.Connecting.NoFailover {
		return 1
	}
	return int32(len(t.Endpoints))
}

// connectFollowed opens the connections to the authorities that this turn has come across. New
// connections may move all records, so that it waits until nothing is being parsed.
func (w *Worker) connectFollowed() {
	for _, i := range w.followed {
		from := w.targets[i].origin
		for k := range w.cfg.Share.Connections[from] {
			w.openPlace(i, int32(w.cfg.Share.FirstConnection[from]+k), false)
		}
	}
	w.followed = w.followed[:0]
}
