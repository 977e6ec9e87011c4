package loop

import "github.com/h2surge/h2surge/runner/netio"

// markDirty notes that a connection may have bytes to send.
func (cs *connections) markDirty(c *conn) {
	if !c.isDirty {
		c.isDirty = true
		cs.dirty = append(cs.dirty, c.index)
	}
}

// flush writes what this turn has made, one call for each connection as a rule.
func (cs *connections) flush() {
	for _, i := range cs.dirty {
		c := cs.all[i]
		c.isDirty = false
		full := !c.isAvailable && c.capacity() == 0
		if c.fd >= 0 && !c.awaitsWritable {
			cs.write(c)
			if full && cs.offer(c) {
				cs.skipWait() // too much waited to be sent, and no longer does
			}
		}
	}
	cs.dirty = cs.dirty[:0]
	cs.rotate()
}

// write sends what is pending until the socket is full.
func (cs *connections) write(c *conn) {
	if c.secure != nil {
		cs.writeSecure(c)
		return
	}
	for {
		p := c.session.Pending()
		if len(p) == 0 {
			c.sentNothing = c.state == dialing
			cs.awaitWritable(c, false)
			return
		}
		n, st := cs.net.Send(c.fd, p)
		switch st {
		case netio.OK:
			c.session.Wrote(n)
			if c.state == dialing {
				cs.connectedNow(c)
			}
			cs.rec.BytesSent += int64(n)
		case netio.Again:
			cs.awaitWritable(c, true)
			return
		case netio.Closed:
			// The next read returns the cause, after what the peer has sent before.
			cs.awaitWritable(c, false)
			return
		}
	}
}

func (cs *connections) awaitWritable(c *conn, want bool) {
	if c.awaitsWritable == want {
		return
	}
	c.awaitsWritable = want
	if err := cs.net.Interest(c.fd, c.index, want); err != nil {
		cs.log.Error("cannot watch a connection", "err", err)
	}
}

// writeSecure is write over TLS.
func (cs *connections) writeSecure(c *conn) {
	n, st, err := netio.WriteEncrypted(cs.net, c.fd, c.secure, c.session)
	cs.rec.BytesSent += int64(n)
	if err == nil { // else the next read returns it
		cs.awaitWritable(c, st == netio.Again)
	}
}

// flushSecure sends what is encrypted, as far as the socket takes it.
func (cs *connections) flushSecure(c *conn) {
	n, _ := netio.SendEncrypted(cs.net, c.fd, c.secure)
	cs.rec.BytesSent += int64(n)
}

func (cs *connections) closeNotify(c *conn) {
	if c.secure != nil {
		c.secure.CloseNotify()
		cs.flushSecure(c)
	}
}
