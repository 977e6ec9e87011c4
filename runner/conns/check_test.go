package conns

import (
	"fmt"
	"slices"

	"github.com/h2surge/h2surge/runner/netio"
)

func (t *transition) String() string { return fmt.Sprintf("%s, %s", t.from, t.on) }

// wrong returns what is wrong between two turns: each connection has what takes it to its next state, none that has ended has a timer, and
// all streams that are free are used.
func (b *bench) wrong() (wrong []string) {
	if b.logged.Len() > 0 {
		wrong = append(wrong, b.logged.String())
	}
	tried, connecting, sockets := map[*Conn]bool{}, map[*Pool]int{}, 0
	for _, c := range b.cs.all {
		if c.role == failbackTrial && c.state != closing && c.originalOfTrial() != nil {
			if tried[c.original] {
				wrong = append(wrong, "a connection has two trials")
			}
			tried[c.original] = true
		}
		connecting[c.pool] += c.connecting()
		if c.socket.IsOpen() {
			sockets++
		}
		what := c.wrong()
		switch {
		case what != "":
		case c.socket.IsOpen() && !slices.ContainsFunc(b.peers, func(p *peer) bool { return p.data == c.index && !p.closed }):
			what = "uses a closed socket"
		case connectingIn[c.state] > 0 && !c.socket.IsOpen() && !b.dials(c):
			what = "waits for no dialer"
		case c.Free() > 0 && !c.isAvailable:
			what = "has free streams that are not used"
		}
		if what != "" {
			wrong = append(wrong, fmt.Sprintf("a connection in state %v %s", c.state, what))
		}
	}
	if sockets != b.sockets() {
		wrong = append(wrong, fmt.Sprintf("%d sockets are open, connections use %d", b.sockets(), sockets))
	}
	for i := range b.cs.pools {
		if p := &b.cs.pools[i]; connecting[p] != p.connecting {
			wrong = append(wrong, fmt.Sprintf("%d connections are connecting, the target counts %d", connecting[p], p.connecting))
		}
	}
	return append(wrong, b.cs.timers.wrong(b.cs.all)...)
}

// left returns how many connections have not ended.
func (b *bench) left() (n int) {
	for _, c := range b.cs.all {
		if c.state != closing {
			n++
		}
	}
	return n
}

// dials returns whether the dialer has an attempt of a connection.
func (b *bench) dials(c *Conn) bool {
	return slices.ContainsFunc(b.attempts, func(a netio.Attempt) bool {
		return a.Awaiter == awaiter{&b.cs.lifecycle, c, c.generation}
	})
}

// wrong returns what is wrong with a connection, or "".
func (c *Conn) wrong() string {
	socket := c.socket.IsOpen()
	session := c.state == opening || c.state == open || c.state == draining
	timer := func(k timerKind) bool { return c.timers[k] != 0 }
	switch {
	case socket != (c.client != nil), session && !socket, socket && !session && c.state != dialing:
		return "has a socket without a session, or in a state without one"
	case c.state == closing && (c.role == place || c.inTimers != 0):
		return "holds a place or a timer"
	case c.state == idle && !c.isIdle && !timer(wantTimer), c.state == backoff && !timer(wantTimer):
		return "will never connect"
	case (c.state == dialing && socket || c.state == opening && c.h2 != nil) && !timer(connectTimer), c.state == opening && c.h1 != nil && !timer(trialTimer):
		return "may wait forever"
	case c.state == draining && c.inFlight() == 0:
		return "has nothing in flight and is open"
	}
	return ""
}

// wrong compares the heap with the timers of the connections.
func (ts *timers) wrong(all []*Conn) (wrong []string) {
	h, set := ts.heap, 0
	for _, c := range all {
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
