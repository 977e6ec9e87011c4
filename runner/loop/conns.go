package loop

import (
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
)

// conn is a connection to a target. Its record is used again, with another generation, when it
// has closed.
type conn struct {
	session session
	// One of h2 and h1 is the session.
	h2 *h2.Client
	h1 *h1.Client
	// secure is nil on a cleartext connection.
	secure *dial.Secure
	// token of each stream is an index into Worker.requests.
	encoder *chain.Encoder // of HTTP/2
	head    *chain.Head    // of HTTP/1.1
	table   chain.TableState
	// tableEpoch is the session's when table was begun.
	tableEpoch uint32

	fd         int
	generation uint32
	index      int32
	target     int32
	// number of the connection in the whole test; it decides the endpoint.
	number   int32
	endpoint int32
	// failures in a row: to connect, or to get a response out of the connection.
	failures int32
	state    connState
	// offered: it is in the target's available ring.
	offered bool
	dirty   bool
	// watchesRoom: the socket was full, and events of room to write are asked for.
	watchesRoom bool
	// settled: the session has the peer's SETTINGS, or needs none.
	settled bool
	// worked: a response has come on it.
	worked bool
	// opened counts the requests it has carried.
	opened int64
	// connectBegan is when connectNow began to connect; zero: connecting is over.
	connectBegan int64
	// receivedAt is when something last came.
	receivedAt int64
	// pingedAt is when the last PING was queued.
	pingedAt int64
	// replaces, when not none, is the connection that this one takes the place of once it has
	// settled: a try to get back to the endpoint of its own.
	replaces           int32
	replacesGeneration uint32
	// armed has a bit for each timerKind that is in the heap for this connection.
	armed uint8
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
	*c = conn{fd: -1, generation: c.generation + 1, index: i, target: t, number: number, replaces: none}
	c.endpoint = number % int32(len(w.targets[t].plan.Endpoints))
	return c
}

// discard closes the socket; the record is free after this turn.
func (w *Worker) discard(c *conn) {
	if c.fd >= 0 {
		w.net.Close(c.fd)
		c.fd = -1
	}
	c.state = closed
	c.session, c.h2, c.h1, c.secure = nil, nil, nil, nil
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

// offer puts a connection with a free stream at the end of its target's queue, and reports whether it is there.
func (w *Worker) offer(c int32) bool {
	cn := &w.conns[c]
	if !cn.offered && cn.state == open && cn.free() > 0 {
		cn.offered = true
		w.targets[cn.target].available.push(c)
	}
	return cn.offered
}

// takeAvailable takes the next connection with a free stream out of the queue, or returns none.
func (w *Worker) takeAvailable(t *target) int32 {
	for t.available.len() > 0 {
		i := t.available.pop()
		c := &w.conns[i]
		c.offered = false
		if c.state == open && c.free() > 0 {
			return i
		}
	}
	return none
}
