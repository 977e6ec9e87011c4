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
		c.wasReady = true
		w.addResting(c)
		w.again = true // the worker may be ready without any event
		return
	}
	if awaited {
		w.unready++
	} else {
		c.wasReady = true
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
	c.armed &= 1 << failbackTimer
	c.worked, c.opened, c.pingedAt = false, 0, 0
	n := int32(len(t.Endpoints))
	c.endpoint = (c.number + c.shift) % n
	address := c.number/n + c.shift/n
	if t.Connecting.NoFailover {
		c.endpoint, address = c.number%n, c.number/n+c.shift
	}
	c.address = t.Endpoints[c.endpoint].Address
	if c.wasReady && c.failures == 0 && c.trialOf == none && w.connectNow(c, t) {
		return
	}
	w.cfg.Dialer.Dial(w, DialRequest{
		Conn: c.index, Generation: c.generation, Target: t, Endpoint: int(c.endpoint), Origin: int(w.targets[c.target].origin),
		Number: int(c.number), Address: int(address),
	})
}

// connectNow connects from the loop itself, which costs a third of what the dialer's goroutine
// does. Only a connection that has worked before is made so: requests are given to it before it is there, and
// given back if it fails.
func (w *Worker) connectNow(c *conn, t *rv.Target) bool {
	if t.TLS != nil || len(t.Connecting.LocalAddresses) > 0 {
		return false
	}
	began := w.net.Now()
	d, ok, err := w.net.Connect(c.address, t.HTTP1.NoKeepAlive)
	if !ok {
		return false
	}
	if err != nil {
		w.dialFailed(c, err)
		return true
	}
	d.Protocol = t.Protocol
	c.connectBegan = began
	w.join(c, d)
	return true
}

// connectDone notes that a connection made by connectNow is there.
func (w *Worker) connectDone(c *conn) {
	w.countConnect(c, w.net.Now()-c.connectBegan)
	c.connectBegan = 0
}

func (w *Worker) countConnect(c *conn, took int64) {
	w.rec.Connect.Record(took / 1000)
	w.rec.Connects++
	if c.wasReady {
		w.rec.Reconnects++
	}
}

// Connected brings the outcome of a Dial; any goroutine may call it. It returns false when the
// worker has ended, so that the caller closes the socket.
func (w *Worker) Connected(r DialRequest, d *dial.Connection, err error) bool {
	return w.Do(func(w *Worker) { w.connected(r, d, err) })
}

func (w *Worker) connected(r DialRequest, d *dial.Connection, err error) {
	c := &w.conns[r.Conn]
	if w.run.phase == Done || c.generation != r.Generation || c.state != dialing {
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
	w.join(c, d)
}

// dialFailed ends an attempt to connect.
func (w *Worker) dialFailed(c *conn, err error) {
	w.lose(c, failure.Of(err, c.address))
}

// join makes a connected socket the worker's own.
func (w *Worker) join(c *conn, d *dial.Connection) {
	fd, err := w.net.Adopt(d, c.index)
	if err != nil {
		w.dialFailed(c, err)
		return
	}
	if c.connectBegan == 0 {
		w.countConnect(c, int64(d.Took))
	}
	c.fd, c.secure, c.receivedAt = fd, d.Secure, w.now
	w.speak(c, d)
	w.happen(c, connected)
	w.touch(c)
	if c.secure != nil && !w.receiveSecure(c) { // the handshake may have read more than its own records
		return
	}
	w.received(c)
}

// openSession begins to wait for what makes the connection usable.
func (w *Worker) openSession(c *conn) {
	switch t := w.targets[c.target].plan; {
	case c.h2 != nil:
		w.arm(c, settingsTimer, t.ConnectTimeout)
	case c.trialOf != none:
		w.arm(c, trialTimer, trialTime)
	}
}

// isUsable says that a connection that is opening can take requests. HTTP/2 has the peer's SETTINGS then; HTTP/1.1
// needs none, but a trial must have stayed open for trialTime, so that the working connection is not given up for
// a peer that accepts and closes.
func (c *conn) isUsable() bool {
	return c.session.Ready() && (c.h2 != nil || c.trialOf == none)
}

// takeUp makes a connection ready for requests.
func (w *Worker) takeUp(c *conn) {
	c.openAt = w.now
	w.targets[c.target].failures = 0
	c.beginTable(w.targets[c.target].encoderTable)
	w.targets[c.target].streams = int64(c.free())
	if c.trialOf != none && !w.replaceByTrial(c) {
		w.happen(c, dropped)
		return
	}
	if c.holdsPlace && !c.wasReady {
		w.ready1()
	}
	c.wasReady = true
	t := w.targets[c.target].plan
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
