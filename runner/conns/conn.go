package conns

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/netio"
)

// Conn is a connection to a target, over all its sockets: it connects again until it is closed for good.
type Conn struct {
	session
	pool   *Pool
	socket netio.Socket

	// generation changes with each socket and attempt to connect; what belongs to an earlier one is ignored.
	generation uint32
	// incarnation changes when the record is used for another connection.
	incarnation uint32
	index       int32
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
	// errorCounted: the error of a GOAWAY on the socket is counted.
	errorCounted bool
	// owner is 1 + the chain instance that alone uses the connection, with Plan.Connecting.PerInstance; 0: none yet;
	// ownerEnded: the instance has ended.
	owner int32
	// isAvailable, isIdle and isDirty: the queue of that name has the connection.
	isAvailable, isIdle, isDirty bool
	// sentNothing: there was nothing to send while the loop connected, so that no event shows when the socket is
	// connected.
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
	// silentSince is when something last came or, if that is later, when a request was put on the connection with no other
	// one in flight. After the last one in flight timed out, it is negative: how long the silence has lasted.
	silentSince int64
	// pingedAt is when the last PING was queued.
	pingedAt int64
	// failbackAt is when the first endpoint is tried again, or was last; zero: the connection is with it.
	failbackAt int64
	// original is the connection whose first endpoint a trial tries; it has ended if its incarnation has changed.
	original            *Conn
	originalIncarnation uint32
	// timers has the instant of each timer that is set; 0: it is not set. firesAt is the first of them, and inTimers is
	// the connection's place in the heap of timers, counted from 1; 0: no timer is set.
	timers   [timerKinds]int64
	firesAt  int64
	inTimers int

	_ [24]byte // whole cache lines
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

// Index returns the place of the connection for At.
func (c *Conn) Index() int32 { return c.index }

// Target returns what the connection is to.
func (c *Conn) Target() int32 { return c.pool.target }

// Endpoint returns the endpoint of the target that the connection uses.
func (c *Conn) Endpoint() *rv.Endpoint { return &c.pool.Plan.Endpoints[c.endpoint] }

// Number returns the connection's number in the whole test.
func (c *Conn) Number() int32 { return c.number }

// Address returns what the socket is connected to, or was last.
func (c *Conn) Address() string { return c.address }

// IsSecure returns whether the connection uses TLS, or QUIC.
func (c *Conn) IsSecure() bool { return c.socket.IsSecure() }

// Down returns for how much of the time from an instant until now the connection was not open.
func (c *Conn) Down(from, now int64) int64 {
	if c.state == open {
		now = c.since
	}
	return max(0, now-max(from, c.downSince))
}

// Cancel gives up a request that has timed out. It returns false if its stream is not reset now. Connections.Cancelled
// follows after the request has its outcome.
func (c *Conn) Cancel(stream uint32, now int64) bool { return c.client.Cancel(stream, now) }

// Free returns how many requests of any chain instance the connection can take now.
func (c *Conn) Free() int {
	if c.owner != 0 {
		return 0
	}
	return c.free()
}

// free returns how many requests the connection can take now.
func (c *Conn) free() int {
	switch {
	case c.state == open && c.h2 != nil:
		return c.h2.Free()
	case c.state == open && c.h3 != nil:
		return c.h3.Free()
	case c.h1 != nil && (c.state == open || c.state == dialing):
		return c.h1.Free()
	}
	return 0
}

// connecting is 1 for a connection that will take requests and takes none yet, and else 0.
func (c *Conn) connecting() int {
	if c.h1 != nil {
		return 0
	}
	return connectingIn[c.state]
}

// isWornOut returns true if the connection has carried as many requests as it may.
func (c *Conn) isWornOut() bool {
	most := c.pool.Plan.Connecting.MaxRequests
	return most > 0 && c.opened >= most
}

// choices is how many endpoints the connection may use.
func (c *Conn) choices() int32 {
	if c.pool.Plan.Connecting.NoFailover {
		return 1
	}
	return int32(len(c.pool.Plan.Endpoints))
}

// isFailedOver returns true if the connection does not use its first endpoint.
func (c *Conn) isFailedOver() bool { return c.shift%c.choices() != 0 }

// The waits between attempts to connect double from the first to the last.
const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = time.Second
)

// backoff is how long the connection waits after its failures. With several endpoints, all are tried before the
// wait gets longer.
func (c *Conn) backoff() time.Duration {
	rounds := (c.failures - 1) / c.choices()
	return min(firstBackoff<<min(rounds, 10), lastBackoff)
}

// records has the records of all connections.
type records struct {
	// all has each connection at its index.
	all []*Conn
	// ended become free after the turn, because events of this turn may still have their indices.
	ended []*Conn
}

// add makes a connection in state idle.
func (rs *records) add(p *Pool, number int32, r role, now int64) *Conn {
	if len(p.free) == 0 {
		c := &Conn{index: int32(len(rs.all))}
		rs.all, p.all, p.free = append(rs.all, c), append(p.all, c), append(p.free, c)
	}
	last := len(p.free) - 1
	c := p.free[last]
	p.free = p.free[:last]
	*c = Conn{
		generation: c.generation + 1, incarnation: c.incarnation + 1, index: c.index,
		pool: p, number: number, role: r, state: idle, downSince: now,
	}
	return c
}

// reclaim adds the records of connections that have ended to the free records of their pools. A record stays in ended
// while a queue of its pool has it.
func (rs *records) reclaim() {
	if len(rs.ended) == 0 {
		return
	}
	still := rs.ended[:0]
	for _, c := range rs.ended {
		if c.isAvailable || c.isIdle {
			still = append(still, c)
			continue
		}
		c.pool.free = append(c.pool.free, c)
	}
	rs.ended = still
}
