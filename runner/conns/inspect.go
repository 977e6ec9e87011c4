package conns

import (
	"fmt"

	"github.com/h2surge/h2surge/runner/netio"
)

// This file has what tests of the engine ask the connections.

// String returns state and event.
func (t *Transition) String() string { return fmt.Sprintf("%s, %s", t.from, t.on) }

// Ends returns whether the transition ends a connection for good.
func (t *Transition) Ends() bool { return t.to == closing }

// Transitions returns all edges of the lifecycle.
func Transitions() []Transition { return transitions[:] }

// FD returns the number of the open socket.
func (c *Conn) FD() int { return c.socket.FD() }

// IsOpen returns whether there is a socket.
func (c *Conn) IsOpen() bool { return c.socket.IsOpen() }

// StrayEvents returns how many events had no transition.
func (cs *Connections) StrayEvents() int { return cs.strayEvents }

// Timers returns how many connections have a timer.
func (cs *Connections) Timers() int { return len(cs.timers.heap) }

// count returns how many connections have a property.
func (cs *Connections) count(is func(*Conn) bool) (n int) {
	for _, c := range cs.all {
		if is(c) {
			n++
		}
	}
	return n
}

// Sockets returns how many connections have a socket.
func (cs *Connections) Sockets() int { return cs.count((*Conn).IsOpen) }

// Places returns how many connections have a place.
func (cs *Connections) Places() int { return cs.count(func(c *Conn) bool { return c.role == place }) }

// Left returns how many connections have not ended.
func (cs *Connections) Left() int {
	return cs.count(func(c *Conn) bool { return c.state != closing })
}

// HasStream returns whether a connection to a target can take a request now.
func (cs *Connections) HasStream(target int32) bool {
	return cs.count(func(c *Conn) bool { return c.pool.target == target && c.capacity() > 0 }) > 0
}

// IsIdle returns whether connections to a target wait for a request, and none is connecting.
func (cs *Connections) IsIdle(target int32) bool {
	return cs.pools[target].connecting == 0 && cs.count(func(c *Conn) bool { return c.pool.target == target && c.state == idle && c.isIdle }) > 0
}

// Check returns what is wrong with the connections between two turns: each has what takes it to its next state, and none that has ended
// has a timer. Waits: the next turn waits for events. IsClosed returns whether a socket is closed, and dials whether an attempt to connect
// has no outcome.
func (cs *Connections) Check(waits bool, isClosed func(fd int) bool, dials func(netio.Awaiter) bool) (wrong []string) {
	tried, connecting := map[*Conn]bool{}, map[int32]int{}
	for _, c := range cs.all {
		if c.role == failbackTrial && c.state != closing && c.originalOfTrial() != nil {
			if tried[c.original] {
				wrong = append(wrong, "a connection has two trials")
			}
			tried[c.original] = true
		}
		connecting[c.pool.target] += c.connecting()
		what := c.wrong(isClosed)
		switch {
		case what != "":
		case connectingIn[c.state] > 0 && !c.IsOpen() && !dials(awaiter{&cs.lifecycle, c, c.generation}):
			what = "waits for no dialer"
		case waits && c.capacity() > 0 && !c.isAvailable:
			what = "has free streams that are not used"
		}
		if what != "" {
			wrong = append(wrong, fmt.Sprintf("a connection in state %v %s", c.state, what))
		}
	}
	for i := range cs.pools {
		if n := connecting[int32(i)]; n != cs.pools[i].connecting {
			wrong = append(wrong, fmt.Sprintf("%d connections are connecting, the target counts %d", n, cs.pools[i].connecting))
		}
	}
	return append(wrong, cs.checkTimers()...)
}

// wrong returns what is wrong with a connection, or "".
func (c *Conn) wrong(isClosed func(fd int) bool) string {
	socket := c.IsOpen()
	session := c.state == opening || c.state == open || c.state == draining
	timer := func(k timerKind) bool { return c.timers[k] != 0 }
	switch {
	case socket != (c.client != nil), session && !socket, socket && !session && c.state != dialing:
		return "has a socket without a session, or in a state without one"
	case socket && isClosed(c.FD()):
		return "uses a closed socket"
	case c.state == closing && (c.role == place || c.inTimers != 0):
		return "holds a place or a timer"
	case c.state == idle && !c.isIdle && !timer(wantTimer), c.state == backoff && !timer(wantTimer):
		return "will never connect"
	case (c.state == dialing && socket || c.state == opening && c.h2 != nil) && !timer(connectTimer), c.state == opening && c.h1 != nil && !timer(trialTimer):
		return "may wait forever"
	case c.state == draining && c.client.InFlight() == 0:
		return "has nothing in flight and is open"
	}
	return ""
}

// checkTimers compares the heap with the timers of the connections.
func (cs *Connections) checkTimers() (wrong []string) {
	h, set := cs.timers.heap, 0
	for _, c := range cs.all {
		first := int64(0)
		for _, at := range c.timers {
			if at != 0 && (first == 0 || at < first) {
				first = at
			}
		}
		if c.firesAt != first || (first != 0) != (c.inTimers != 0) || first != 0 && h[c.inTimers-1] != c {
			wrong = append(wrong, fmt.Sprintf("a connection in state %v has the timers %v and fires at %d, at place %d", c.state, c.timers, c.firesAt, c.inTimers))
		}
		set += min(c.inTimers, 1)
	}
	if set != len(h) {
		wrong = append(wrong, fmt.Sprintf("%d connections have timers, the heap %d", set, len(h)))
	}
	for i := 1; i < len(h); i++ {
		if h.Less(i, (i-1)/2) {
			wrong = append(wrong, "the heap is out of order")
		}
	}
	return wrong
}
