package loop

import (
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
)

// conn is a connection to a target. It holds one of the target's places, as many as the target has connections,
// and reconnects until it leaves the place. Two kinds hold none: one that drains while a successor has its place,
// and a trial of the first endpoint (see failback.go).
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

	fd int
	// generation changes with each socket and attempt to connect; what belongs to an earlier one is ignored.
	generation uint32
	// incarnation changes when the record is used for another connection.
	incarnation uint32
	index       int32
	target      int32
	// number of the connection in the whole test; it decides the first endpoint and address.
	number   int32
	endpoint int32
	// shift is how many endpoints, and then addresses, the connection has moved on from its first.
	shift int32
	// failures in a row: to connect, or to get a response out of the connection.
	failures int32
	state    connState
	// holdsPlace: it is one of the target's connections.
	holdsPlace bool
	// wasOpen: the place has had an open connection before.
	wasOpen bool
	// awaited: the worker is not ready before the place has an open connection.
	awaited bool
	// offered: it is in the target's available ring. resting: it is in the target's resting ring.
	offered, resting bool
	dirty            bool
	// watchesRoom: the socket was full, and events of room to write are asked for.
	watchesRoom bool
	// worked: a response has come on the socket.
	worked bool
	// armed has a bit for each timerKind that is in the heap for this connection.
	armed uint8
	// opened counts the requests that the socket has carried.
	opened int64
	// address is what the socket is connected to.
	address string
	// since is when the connection entered its state.
	since int64
	// downSince is when the connection was made, or when it was last open.
	downSince int64
	// receivedAt is when something last came.
	receivedAt int64
	// pingedAt is when the last PING was queued.
	pingedAt int64
	// failbackAt is when the first endpoint is tried again, or was last; zero: the connection is with it.
	failbackAt int64
	// trialOf, when not none, is the connection that this one is a trial for.
	trialOf            int32
	trialOfIncarnation uint32
}

// newConn makes a connection in state idle. It may move all records.
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
	*c = conn{
		fd: -1, generation: c.generation + 1, incarnation: c.incarnation + 1, index: i,
		target: t, number: number, trialOf: none, state: idle,
		downSince: w.now,
	}
	return c
}

// newPlace makes a connection that holds a place of its target.
func (w *Worker) newPlace(t, number int32) *conn {
	c := w.newConn(t, number)
	c.holdsPlace = true
	return c
}

// closeSocket closes the socket, if there is one, and makes the record's next attempt another generation.
func (w *Worker) closeSocket(c *conn) {
	if c.fd >= 0 {
		w.net.Close(c.fd)
	}
	c.fd = -1
	c.generation++
	c.armed &= recordTimers
	c.session, c.h2, c.h1, c.secure, c.encoder, c.head = nil, nil, nil, nil, nil, nil
	c.watchesRoom = false
}

// leave gives up the place and frees the record after the turn: events of this turn may still name it.
func (w *Worker) leave(c *conn) {
	if c.trialOf != none {
		w.endTrial(c)
	}
	w.giveUpPlace(c)
	c.armed = 0
	c.incarnation++
	w.closing = append(w.closing, c.index)
}

// giveUpPlace makes c a connection without a place.
func (w *Worker) giveUpPlace(c *conn) {
	w.stopAwaiting(c)
	c.holdsPlace = false
}

// stopAwaiting notes that the worker does not wait for the place any more: it has an open connection, or is given up.
func (w *Worker) stopAwaiting(c *conn) {
	if !c.awaited {
		return
	}
	c.awaited = false
	if w.unready--; w.unready == 0 {
		w.problem = ""
	}
}

// freeConnections makes the records of closed connections usable again, once nothing of this
// turn can name them any more.
func (w *Worker) freeConnections() {
	if len(w.closing) == 0 {
		return
	}
	still := w.closing[:0]
	for _, i := range w.closing {
		if w.conns[i].offered || w.conns[i].resting {
			still = append(still, i) // the target's ring still has it
			continue
		}
		w.freeConns = append(w.freeConns, i)
	}
	w.closing = still
}

// goodbye tells the peer that the connection ends.
func (w *Worker) goodbye(c *conn) {
	c.session.Shutdown()
	w.write(c)
	w.closeNotify(c)
}

// closeAll ends every connection.
func (w *Worker) closeAll() {
	for i := range w.conns {
		c := &w.conns[i]
		if c.fd >= 0 {
			w.goodbye(c)
		}
		if c.state != closing {
			w.happen(c, dropped)
		}
	}
}

// offer puts a connection with a free stream at the end of its target's queue, and reports whether it is there.
func (w *Worker) offer(c int32) bool {
	cn := &w.conns[c]
	if !cn.offered && cn.free() > 0 {
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
		if c.free() > 0 {
			return i
		}
	}
	return none
}
