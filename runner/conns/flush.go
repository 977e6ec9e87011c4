package conns

import "github.com/h2surge/h2surge/runner/netio"

// markDirty notes that a connection may have bytes to send.
func (cs *Connections) markDirty(c *Conn) {
	if !c.isDirty {
		c.isDirty = true
		cs.dirty = append(cs.dirty, c.index)
	}
}

// Flush writes what this turn has made, one call for each connection as a rule. It ends the turn.
func (cs *Connections) Flush() {
	for _, i := range cs.dirty {
		c := cs.all[i]
		c.isDirty = false
		full := !c.isAvailable && c.capacity() == 0
		if c.socket.IsOpen() && !c.socket.AwaitsWritable() {
			cs.write(c)
			if full && cs.offer(c) {
				cs.cfg.SkipWait() // too much waited to be sent, and no longer does
			}
		}
	}
	cs.dirty = cs.dirty[:0]
	cs.rotate()
	cs.freeEnded()
}

// write sends what is pending until the socket is full. If the socket is closed, the next read returns the cause, after what the
// peer has sent before.
func (cs *Connections) write(c *Conn) {
	n, st, err := c.socket.Write(c.session)
	cs.rec.BytesSent += int64(n)
	if n > 0 && c.state == dialing {
		cs.connectedNow(c)
	}
	if st == netio.OK {
		c.sentNothing = c.state == dialing
	}
	if err != nil {
		cs.cfg.Log.Error("cannot send on a connection", "err", err)
	}
}

// flushSecure sends what is encrypted, as far as the socket takes it.
func (cs *Connections) flushSecure(c *Conn) {
	n, _ := c.socket.Flush()
	cs.rec.BytesSent += int64(n)
}
