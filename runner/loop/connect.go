package loop

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
)

// connectAll begins to open every connection of the share, as fast as the target's ramp allows:
// connection k of the whole test is due in the period k / RampCount.
func (w *Worker) connectAll() {
	for t, n := range w.cfg.Share.Connections {
		ramp := &w.targets[t].plan.Connecting
		for k := range n {
			c := w.newConn(int32(t), int32(w.cfg.Share.FirstConnection[t]+k))
			var delay time.Duration
			if ramp.RampCount > 0 {
				delay = time.Duration(int(c.number)/ramp.RampCount) * ramp.RampPeriod
			}
			w.unready++
			w.dial(c, delay)
		}
	}
}

func (w *Worker) dial(c *conn, delay time.Duration) {
	c.state = dialling
	t := w.targets[c.target].plan
	c.endpoint = c.number % int32(len(t.Endpoints))
	if !t.Connecting.NoFailover && c.replaces == none {
		c.endpoint = (c.number + c.failures) % int32(len(t.Endpoints))
	}
	if delay == 0 && c.wasReady && c.failures == 0 && w.connectNow(c, t) {
		return
	}
	w.cfg.Dialer.Dial(w, DialRequest{
		Conn: c.index, Generation: c.generation, Target: t, Endpoint: int(c.endpoint), Origin: int(w.targets[c.target].origin),
		Number: int(c.number), Attempt: int(c.failures), Delay: delay,
	})
}

// connectNow connects from the loop itself, which costs a third of what the dialer's goroutine
// does. Only a connection that takes the place of one that has worked is made so: it is used at
// once, in the belief that it will succeed, and loses what was given to it if it does not.
func (w *Worker) connectNow(c *conn, t *rv.Target) bool {
	if t.TLS != nil || len(t.Connecting.LocalAddresses) > 0 {
		return false
	}
	began := w.net.Now()
	d, ok, err := w.net.Connect(t.Endpoints[c.endpoint].Address, t.HTTP1.NoKeepAlive)
	if !ok {
		return false
	}
	fd := -1
	if err == nil {
		d.Protocol = t.Protocol
		fd, err = w.net.Adopt(d, c.index)
	}
	if err != nil {
		w.connectFailed(c, failure.Of(err, t.Endpoints[c.endpoint].Address))
		w.redial(c)
		return true
	}
	c.connectBegan = began
	w.join(c, d, fd)
	return true
}

// connectDone notes that a connection made by connectNow has taken its first bytes.
func (w *Worker) connectDone(c *conn) {
	w.rec.Connect.Record((w.net.Now() - c.connectBegan) / 1000)
	c.connectBegan = 0
}

// Connected brings the outcome of a Dial; any goroutine may call it. It returns false when the
// worker has ended, so that the caller closes the socket.
func (w *Worker) Connected(r DialRequest, d *dial.Connection, err error) bool {
	return w.Do(func(w *Worker) { w.connected(r, d, err) })
}

func (w *Worker) connected(r DialRequest, d *dial.Connection, err error) {
	c := &w.conns[r.Conn]
	if w.phase == Done || c.generation != r.Generation || c.state != dialling {
		if err == nil {
			d.Close()
		}
		return
	}
	fd := -1
	if err == nil {
		fd, err = w.net.Adopt(d, c.index)
	}
	switch {
	case err == nil:
		w.join(c, d, fd)
	case c.replaces != none:
		w.connectFailed(c, failure.Of(err, w.endpoint(c).Address))
		w.giveUpReturn(c)
	default:
		w.connectFailed(c, failure.Of(err, w.endpoint(c).Address))
		w.redial(c)
	}
}

// join makes a connected socket the worker's own.
func (w *Worker) join(c *conn, d *dial.Connection, fd int) {
	if c.connectBegan == 0 {
		w.rec.Connect.Record(int64(d.Took) / 1000)
	}
	w.rec.Connects++
	if c.wasReady {
		w.rec.Reconnects++
	}
	t := &w.targets[c.target]
	c.fd, c.secure, c.state, c.receivedAt = fd, d.Secure, open, w.now
	w.speak(c, d)
	w.touch(c)
	if c.secure != nil && !w.receiveSecure(c) { // the handshake may have read more than its own records
		return
	}
	if w.received(c); c.state == open && !c.settled {
		w.arm(c, settingsTimer, t.plan.ConnectTimeout)
	}
}

// The waits between attempts to connect double from the first to the last.
const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = time.Second
)

func (w *Worker) redial(c *conn) {
	c.failures++
	delay := min(firstBackoff<<min(c.failures-1, 10), lastBackoff)
	w.dial(c, delay)
}

// settle is called when the session has the peer's SETTINGS.
func (w *Worker) settle(c *conn) {
	c.settled = true
	c.beginTable(w.targets[c.target].encoderTable)
	if !c.wasReady {
		c.wasReady = true
		w.unready--
		if w.unready == 0 {
			w.problem = ""
		}
	}
	w.armSettled(c)
	if c.replaces != none {
		w.returned(c)
	}
}

// lose closes a connection that has failed or ended; each of its requests gets its outcome. A
// connection that was not draining is replaced.
func (w *Worker) lose(c *conn, why failure.Cause) {
	why = w.countEnd(c, why)
	w.current, w.ending = c, why
	c.session.Close()
	w.current, w.ending = nil, failure.Cause{}
	replace := c.state == open
	w.discard(c)
	if !replace {
		return
	}
	if c.replaces != none {
		w.giveUpReturn(c)
		return
	}
	if !c.settled {
		// Connecting was no success: back off, and let another endpoint have a try.
		c.failures++
	}
	w.replace(c)
}

// replace opens a connection in the place of c.
func (w *Worker) replace(c *conn) {
	if w.stage.over() && w.requests.inUse == 0 {
		return
	}
	target, number, wasReady, failures := c.target, c.number, c.wasReady, c.failures
	if c.settled && !c.worked {
		// A peer that takes connections and answers nothing on them is no better than one that
		// refuses them.
		failures++
	}
	n := w.newConn(target, number) // may move w.conns: c is invalid from here
	n.wasReady, n.failures = wasReady, failures
	if failures == 0 {
		w.dial(n, 0)
		return
	}
	w.redial(n)
}

// retire lets a connection finish what it has, while another takes its place. It is called
// outside of parsing.
func (w *Worker) retire(c *conn, replace bool) {
	c.state = draining
	i := c.index
	if replace {
		w.replace(c)
		c = &w.conns[i]
	}
	w.drained(c)
}

// drained closes a draining connection whose last response has come.
func (w *Worker) drained(c *conn) {
	if c.state != draining {
		return
	}
	if c.session.InFlight() > 0 {
		w.touch(c)
		return
	}
	c.session.Shutdown()
	w.write(c)
	w.closeNotify(c)
	w.discard(c)
}

// home is the endpoint that a connection's number gives it.
func (w *Worker) home(c *conn) int32 {
	return c.number % int32(len(w.targets[c.target].plan.Endpoints))
}

// defaultFailback is how long a connection stays with another endpoint before its own is tried
// again.
const defaultFailback = 5 * time.Second

// tryReturn dials the connection's own endpoint while c goes on with another.
func (w *Worker) tryReturn(c *conn) {
	target, number, i, generation := c.target, c.number, c.index, c.generation
	n := w.newConn(target, number)
	n.wasReady, n.replaces, n.replacesGeneration = true, i, generation
	w.dial(n, 0)
}

// giveUpReturn ends a try to return; the connection it was for tries again later.
func (w *Worker) giveUpReturn(c *conn) {
	old := &w.conns[c.replaces]
	if old.generation == c.replacesGeneration && old.state == open {
		w.armFailback(old)
	}
	if c.state != closed {
		w.discard(c)
	}
}

// returned puts a connection to its own endpoint in the place of the one it replaces.
func (w *Worker) returned(c *conn) {
	old, generation := c.replaces, c.replacesGeneration
	c.replaces = none
	if o := &w.conns[old]; o.generation == generation && o.state == open {
		w.retiring = append(w.retiring, old)
	}
}

// retireAll retires what this turn has found to be at its end. Connections that come to be so
// while bytes are parsed or requests are sent wait until then, because replacing one may move
// all records.
func (w *Worker) retireAll() {
	for _, i := range w.retiring {
		c := &w.conns[i]
		if c.state == open {
			// After a return the other connection is there already.
			w.retire(c, !w.returnedFor(c))
		}
	}
	w.retiring = w.retiring[:0]
}

// returnedFor says that another open connection has c's number.
func (w *Worker) returnedFor(c *conn) bool {
	for i := range w.conns {
		o := &w.conns[i]
		if o.index != c.index && o.number == c.number && o.target == c.target && o.state == open && o.settled {
			return true
		}
	}
	return false
}
