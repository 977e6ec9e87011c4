package conns

import "github.com/h2surge/h2surge/runner/netio"

// Flush writes what this turn has made, one call for each connection as a rule. It ends the turn. A connection of
// HTTP/3 that takes no requests takes the end of one.
func (cs *Connections) Flush() {
	cs.closeLeaving()
	for _, c := range cs.dirty {
		c.isDirty = false
		full := !c.isAvailable && c.Free() == 0
		if c.socket.IsOpen() && (!c.socket.AwaitsWritable() || c.h3 != nil) {
			cs.write(c)
			if full && c.pool.Offer(c) {
				cs.cfg.SkipWait() // too much waited to be sent, and no longer does
			}
		}
	}
	cs.dirty = cs.dirty[:0]
	for _, p := range cs.batches {
		p.rotate()
	}
	cs.batches = cs.batches[:0]
	cs.reclaim()
}

// markDirty notes that a connection may have bytes to send.
func (l *lifecycle) markDirty(c *Conn) {
	if !c.isDirty {
		c.isDirty = true
		l.dirty = append(l.dirty, c)
	}
}

// write sends what is pending until the socket is full. If the socket is closed, the next read returns the cause, after
// what the peer has sent before.
func (l *lifecycle) write(c *Conn) {
	n, st, err := c.socket.Write(c.client)
	l.countOctets(c, n, 0)
	if n > 0 && c.state == dialing {
		l.connectedNow(c)
	}
	if st == netio.OK {
		c.sentNothing = c.state == dialing
	}
	if err != nil {
		l.cfg.Log.Error("cannot send on a connection", "err", err)
	}
}
