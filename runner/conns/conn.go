package conns

import (
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/netio"
)

// Conn is a connection to a target, over all its sockets: it connects again until it is closed for good.
type Conn struct {
	session session
	// One of h2 and h1 is the session.
	h2      *h2.Client
	h1      *h1.Client
	socket  netio.Socket
	encoder *chain.Encoder // of HTTP/2
	head    *chain.Head    // of HTTP/1.1
	// table is the state of the peer's HPACK table for our requests.
	table chain.TableState
	// tableEpoch is the session's when table was begun.
	tableEpoch uint32

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
	role     role
	// wasOpen: the place has had an open connection before.
	wasOpen bool
	// awaited: the worker is not ready before the place has an open connection.
	awaited bool
	// answered: a response has come on the socket.
	answered bool
	// isAvailable, isIdle and isDirty: the queue of that name has the connection.
	isAvailable, isIdle, isDirty bool
	// sentNothing: there was nothing to send while the loop connected, so that no event shows when the socket is connected.
	sentNothing bool
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
	// original is the connection whose first endpoint a trial tries; it has ended if its incarnation has changed.
	original            *Conn
	originalIncarnation uint32
	// timers has the instant of each timer that is set; 0: it is not set. firesAt is the first of them, and inTimers is the
	// connection's place in connections.timers, counted from 1; 0: no timer is set.
	timers   [timerKinds]int64
	firesAt  int64
	inTimers int

	_ [16]byte // whole cache lines
}

// role is what a connection counts as.
type role uint8

const (
	// surplus: it drains, because another connection has its place or the target needs fewer connections.
	surplus role = iota
	// place: it is one of the target's connections.
	place
	// failbackTrial: it tries the first endpoint of a connection that uses another one; see failback.go.
	failbackTrial
)

// add makes a connection in state idle.
func (cs *Connections) add(t, number int32, r role) *Conn {
	var c *Conn
	if n := len(cs.free); n > 0 {
		c = cs.all[cs.free[n-1]]
		cs.free = cs.free[:n-1]
	} else {
		c = &Conn{index: int32(len(cs.all))}
		cs.all = append(cs.all, c)
	}
	*c = Conn{
		generation: c.generation + 1, incarnation: c.incarnation + 1, index: c.index,
		target: t, number: number, role: r, state: idle, downSince: cs.now,
	}
	return c
}

// closeSocket closes the socket, if there is one, and makes the record's next attempt another generation.
func (cs *Connections) closeSocket(c *Conn) {
	c.socket.Close()
	c.generation++
	cs.endTimers(c)
	cs.endSession(c)
}

// makeSurplus lets a connection give up its place.
func (cs *Connections) makeSurplus(c *Conn) {
	cs.stopAwaiting(c)
	c.role = surplus
}

// stopAwaiting notes that the worker does not wait for the place any more: it has an open connection, or is given up.
func (cs *Connections) stopAwaiting(c *Conn) {
	if !c.awaited {
		return
	}
	c.awaited = false
	if cs.awaited--; cs.awaited == 0 {
		cs.problem = ""
	}
}

// Down returns for how much of the time from an instant until now a connection was not open.
func (cs *Connections) Down(c *Conn, from int64) int64 {
	until := cs.now
	if c.state == open {
		until = c.since
	}
	return max(0, until-max(from, c.downSince))
}

// Index returns the place of the connection for At.
func (c *Conn) Index() int32 { return c.index }

// Target returns what the connection is to.
func (c *Conn) Target() int32 { return c.target }

// Number returns the connection's number in the whole test.
func (c *Conn) Number() int32 { return c.number }

// Address returns what the socket is connected to, or was last.
func (c *Conn) Address() string { return c.address }

// IsSecure returns whether the connection uses TLS.
func (c *Conn) IsSecure() bool { return c.socket.Secure != nil }

// IsHTTP1 returns whether the connection uses HTTP/1.1.
func (c *Conn) IsHTTP1() bool { return c.h1 != nil }

// GoAway returns the words of the last GOAWAY, and whether there was one.
func (c *Conn) GoAway() (words string, seen bool) {
	if c.h2 == nil {
		return "", false
	}
	if _, seen = c.h2.GoAway(); seen {
		words = c.h2.GoAwayWords()
	}
	return words, seen
}
