package conns

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/internal/ring"
	"github.com/h2surge/h2surge/runner/h1"
)

// pool is the connections to a target.
type pool struct {
	*Target
	// protocol is that of the connection that was opened last. Empty: none was opened.
	protocol rv.Protocol
	// available connections may have a free stream. The first is used next and goes to the end: after each request, or with
	// plan.Batch at the end of the turn.
	available ring.Ring[int32]
	// batch are the connections that this turn has used, with plan.Batch. All but the last are full.
	batch []int32
	// idle connections have no socket. Requests that wait let them connect.
	idle ring.Ring[int32]
	// spare are sessions over HTTP/1.1 of connections that have closed, for the next ones: at most as many as were in use
	// at once.
	spare []*h1.Client
	// connecting is the sum of conn.connecting.
	connecting int
	// streams is how many requests the connection that was opened last can hold.
	streams int64
	// unconnected is why requests are dropped while no connection is open or connecting: the last end of a connection, or the
	// last failure to open one.
	unconnected failure.Cause
	// failures counts the failures in a row to open a connection, over all connections.
	failures int
}

// offer puts a connection with a free stream at the end of its target's queue, and reports whether it is there.
func (cs *Connections) offer(c *Conn) bool {
	if !c.isAvailable && c.capacity() > 0 {
		c.isAvailable = true
		cs.pools[c.target].available.Push(c.index)
	}
	return c.isAvailable
}

// Return gives back a connection that Take returned, and that got no request.
func (cs *Connections) Return(c *Conn) { cs.offer(c) }

// Take returns the connection for the next request: the one that this turn fills, or the next one with a free
// stream, which leaves the queue. nil: no stream is free.
func (cs *Connections) Take(target int32) *Conn {
	p := &cs.pools[target]
	if n := len(p.batch); n > 0 {
		if c := cs.all[p.batch[n-1]]; c.capacity() > 0 {
			return c
		}
	}
	for p.available.Len() > 0 {
		c := cs.all[p.available.Pop()]
		c.isAvailable = false
		if c.capacity() > 0 {
			return c
		}
	}
	return nil
}

// used makes a connection available after a request was put on it: now, or with plan.Batch at the end of the turn.
func (cs *Connections) used(c *Conn) {
	p := &cs.pools[c.target]
	if !p.Plan.Batch {
		cs.offer(c)
		return
	}
	n := len(p.batch)
	if n == 0 {
		cs.batches = append(cs.batches, c.target)
	}
	if n == 0 || p.batch[n-1] != c.index {
		p.batch = append(p.batch, c.index)
	}
}

// rotate ends the batches of a turn. The connection that was used first becomes the last of its target, and the others keep
// their places. Full connections have a place, too: the order does not depend on which response comes first.
func (cs *Connections) rotate() {
	for _, t := range cs.batches {
		p := &cs.pools[t]
		for i := len(p.batch) - 1; i >= 0; i-- {
			c := cs.all[p.batch[i]]
			switch {
			case c.isAvailable || c.state != open && c.capacity() == 0:
				continue
			case i == 0:
				p.available.Push(c.index)
			default:
				p.available.PushFront(c.index)
			}
			c.isAvailable = true
		}
		p.batch = p.batch[:0]
	}
	cs.batches = cs.batches[:0]
}

// isWornOut returns true if a connection has carried as many requests as it may.
func (cs *Connections) isWornOut(c *Conn) bool {
	most := cs.pools[c.target].Plan.Connecting.MaxRequests
	return most > 0 && c.opened >= most
}

// placesOf returns how many places a target has, and how many of them are busy, because their connections are open or wait
// for their last responses, or connecting.
func (cs *Connections) placesOf(target int32) (all, busy, connecting int) {
	for _, c := range cs.all {
		if c.target != target || c.role != place {
			continue
		}
		all++
		if c.state == open || c.state == draining {
			busy++
		}
		connecting += connectingIn[c.state]
	}
	return all, busy, connecting
}

// EndpointOf returns what a connection is to.
func (cs *Connections) EndpointOf(c *Conn) *rv.Endpoint {
	return &cs.pools[c.target].Plan.Endpoints[c.endpoint]
}

// choices is how many endpoints a connection may use.
func (cs *Connections) choices(c *Conn) int32 {
	t := cs.pools[c.target].Plan
	if t.Connecting.NoFailover {
		return 1
	}
	return int32(len(t.Endpoints))
}
