package loop

import (
	"time"

	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h2"
)

// conn is a connection to a target. Its record is used again, with another generation, when it
// has closed.
type conn struct {
	session *h2.Client
	// secure is nil on a cleartext connection.
	secure *dial.Secure
	// token of each stream is an index into Worker.requests.
	encoder *chain.Encoder
	table   chain.TableState
	// tableSize is what the peer allowed when table was begun.
	tableSize uint32

	fd         int
	generation uint32
	index      int32
	target     int32
	// number of the connection in the whole test; it decides the endpoint.
	number   int32
	endpoint int32
	// failures in a row to connect.
	failures int32
	state    connState
	// offered: it is in the target's available ring.
	offered bool
	dirty   bool
	// watchesRoom: the socket was full, and events of room to write are asked for.
	watchesRoom bool
	// settled: the session has the peer's SETTINGS.
	settled bool
	// wasReady: this connection, or one it replaces, has been ready before.
	wasReady bool
}

type connState uint8

const (
	// closed: the record is unused.
	closed connState = iota
	dialling
	// open: the socket is connected; the session may wait for SETTINGS.
	open
	// draining: the peer takes no more requests; another connection has taken its place.
	draining
)

// connectAll begins to open every connection of the share.
func (w *Worker) connectAll() {
	for t, n := range w.cfg.Share.Connections {
		for k := range n {
			w.unready++
			w.dial(w.newConn(int32(t), int32(w.cfg.Share.FirstConnection[t]+k)), 0)
		}
	}
}

func (w *Worker) newConn(t, number int32) *conn {
	var i int32
	if n := len(w.freeConns); n > 0 {
		i = w.freeConns[n-1]
		w.freeConns = w.freeConns[:n-1]
	} else {
		w.conns = append(w.conns, conn{})
		i = int32(len(w.conns) - 1)
	}
	c := &w.conns[i]
	*c = conn{fd: -1, generation: c.generation + 1, index: i, target: t, number: number}
	c.endpoint = number % int32(len(w.targets[t].plan.Endpoints))
	return c
}

func (w *Worker) dial(c *conn, delay time.Duration) {
	c.state = dialling
	w.cfg.Dialer.Dial(w, c.index, c.generation, c.target, c.endpoint, delay)
}

// Connected brings the outcome of a Dial; any goroutine may call it. It returns false when the
// worker has ended, so that the caller closes the socket.
func (w *Worker) Connected(i int32, generation uint32, d *dial.Connection, err error) bool {
	return w.Do(func(w *Worker) { w.connected(i, generation, d, err) })
}

func (w *Worker) connected(i int32, generation uint32, d *dial.Connection, err error) {
	c := &w.conns[i]
	if w.phase == Done || c.generation != generation || c.state != dialling {
		if err == nil {
			w.net.Close(d.FD)
		}
		return
	}
	if err == nil {
		if err = w.net.Watch(d.FD, i); err != nil {
			w.net.Close(d.FD)
		}
	}
	if err != nil {
		w.problem = err.Error()
		w.redial(c)
		return
	}
	w.join(c, d)
}

// join makes a connected socket the worker's own.
func (w *Worker) join(c *conn, d *dial.Connection) {
	w.rec.Connect.Record(int64(d.Took) / 1000)
	w.rec.Connects++
	if c.wasReady {
		w.rec.Reconnects++
	}
	t := &w.targets[c.target]
	c.fd, c.secure, c.state = d.FD, d.Secure, open
	c.session = h2.NewClient(t.session, w)
	c.encoder = t.encoders[c.endpoint]
	w.touch(c)
	w.opening.push(opening{conn: c.index, generation: c.generation, deadline: w.now + int64(t.plan.ConnectTimeout)})
	if c.secure != nil {
		w.receiveSecure(c) // the handshake may have read more than its own records
	}
}

// opening is a connection whose peer has not sent its SETTINGS when it was noted.
type opening struct {
	conn       int32
	generation uint32
	deadline   int64
}

// expireOpening gives up peers that accept a connection and then say nothing. Targets with
// different timeouts share the queue, so a short one may wait for a longer one before it.
func (w *Worker) expireOpening() {
	for w.opening.len() > 0 {
		o := w.opening.front()
		c := &w.conns[o.conn]
		waits := c.generation == o.generation && c.state == open && !c.settled
		if waits && w.now < o.deadline {
			return
		}
		w.opening.pop()
		if waits {
			w.lose(c, "target "+w.targets[c.target].plan.Name+": connected, but the peer sent no SETTINGS in time (RFC 9113 3.4)")
		}
	}
}

func (w *Worker) nextOpening() int64 {
	if w.opening.len() == 0 {
		return never
	}
	return w.opening.front().deadline
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

// settled is called when the session has the peer's SETTINGS.
func (w *Worker) settled(c *conn) {
	c.settled = true
	c.tableSize = c.session.EncoderTableSize()
	c.table = c.encoder.Begin(c.tableSize)
	c.failures = 0
	if !c.wasReady {
		c.wasReady = true
		w.unready--
		if w.unready == 0 {
			w.problem = ""
		}
	}
}

// lose closes a connection that has failed or ended; each of its requests gets its outcome. A
// connection that was not draining is replaced.
func (w *Worker) lose(c *conn, why string) {
	w.current = c
	c.session.Close()
	w.current = nil
	replace := c.state == open
	w.discard(c)
	if replace {
		if !c.wasReady {
			c.failures++
			w.problem = why
		}
		w.replace(c)
	}
}

// replace opens a connection in the place of c.
func (w *Worker) replace(c *conn) {
	target, number, wasReady, failures := c.target, c.number, c.wasReady, c.failures
	if w.stage.over() && w.requests.inUse == 0 {
		return
	}
	n := w.newConn(target, number) // may move w.conns: c is invalid from here
	n.wasReady, n.failures = wasReady, failures
	if wasReady && failures == 0 {
		// Counted as a failure until the new one has the peer's SETTINGS, so that a peer which
		// accepts and closes is not hammered.
		n.failures = 1
		w.dial(n, 0)
		return
	}
	w.redial(n)
}

// discard closes the socket; the record is free after this turn.
func (w *Worker) discard(c *conn) {
	if c.fd >= 0 {
		w.net.Close(c.fd)
		c.fd = -1
	}
	c.state = closed
	c.session, c.secure = nil, nil
	w.closing = append(w.closing, c.index)
}

// freeConnections makes the records of closed connections usable again, once nothing of this
// turn can name them any more.
func (w *Worker) freeConnections() {
	if len(w.closing) == 0 {
		return
	}
	still := w.closing[:0]
	for _, i := range w.closing {
		if w.conns[i].offered {
			still = append(still, i) // takeAvailable will come across it
			continue
		}
		w.freeConns = append(w.freeConns, i)
	}
	w.closing = still
}

// closeAll says goodbye on every connection.
func (w *Worker) closeAll() {
	for i := range w.conns {
		c := &w.conns[i]
		if c.fd < 0 {
			continue
		}
		c.session.Shutdown()
		w.write(c)
		w.closeNotify(c)
		w.net.Close(c.fd)
		c.fd, c.state = -1, closed
	}
}

// offer puts a connection with a free stream at the end of its target's queue.
func (w *Worker) offer(c int32) {
	cn := &w.conns[c]
	if !cn.offered && cn.state == open && cn.session.Free() > 0 {
		cn.offered = true
		w.targets[cn.target].available.push(c)
	}
}

// takeAvailable takes the next connection with a free stream out of the queue, or returns none.
func (w *Worker) takeAvailable(t *target) int32 {
	for t.available.len() > 0 {
		i := t.available.pop()
		c := &w.conns[i]
		c.offered = false
		if c.state == open && c.session.Free() > 0 {
			return i
		}
	}
	return none
}

// touch notes that a connection may have bytes to send.
func (w *Worker) touch(c *conn) {
	if !c.dirty {
		c.dirty = true
		w.dirty = append(w.dirty, c.index)
	}
}

// flush writes what this turn has made, one call for each connection as a rule.
func (w *Worker) flush() {
	for _, i := range w.dirty {
		c := &w.conns[i]
		c.dirty = false
		if c.fd >= 0 && !c.watchesRoom {
			w.write(c)
		}
	}
	w.dirty = w.dirty[:0]
}

// write sends what is pending until the socket is full.
func (w *Worker) write(c *conn) {
	if c.secure != nil {
		w.writeSecure(c)
		return
	}
	for {
		p := c.session.Pending()
		if len(p) == 0 {
			w.watchRoom(c, false)
			return
		}
		n, st := w.net.Send(c.fd, p)
		switch st {
		case OK:
			c.session.Wrote(n)
			w.rec.BytesSent += int64(n)
		case Again:
			w.watchRoom(c, true)
			return
		case Closed:
			// The next read tells why, after what the peer may have said before.
			w.watchRoom(c, false)
			return
		}
	}
}

func (w *Worker) watchRoom(c *conn, want bool) {
	if c.watchesRoom == want {
		return
	}
	c.watchesRoom = want
	if err := w.net.Interest(c.fd, c.index, want); err != nil {
		w.cfg.Log.Error("cannot watch a connection", "err", err)
	}
}
