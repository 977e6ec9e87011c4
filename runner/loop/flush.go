package loop

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
		case OK:
			c.session.Wrote(n)
			if c.state == dialing {
				cs.connectedNow(c)
			}
			cs.rec.BytesSent += int64(n)
		case Again:
			cs.awaitWritable(c, true)
			return
		case Closed:
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

// writeSecure encrypts what the session has, piece by piece, and sends what the socket takes.
func (cs *connections) writeSecure(c *conn) {
	for cs.flushSecure(c) {
		p := c.session.Pending()
		if len(p) == 0 {
			cs.awaitWritable(c, false)
			return
		}
		p = p[:min(len(p), secureAhead)]
		if err := c.secure.Write(p); err != nil {
			return // the next read returns the error
		}
		c.session.Wrote(len(p))
	}
}

// flushSecure sends what is encrypted; false: something is left.
func (cs *connections) flushSecure(c *conn) bool {
	for {
		p := c.secure.Pending()
		if len(p) == 0 {
			return true
		}
		n, st := cs.net.Send(c.fd, p)
		switch st {
		case OK:
			c.secure.Sent(n)
			cs.rec.BytesSent += int64(n)
		case Again:
			cs.awaitWritable(c, true)
			return false
		case Closed:
			cs.awaitWritable(c, false)
			return false
		}
	}
}

func (cs *connections) closeNotify(c *conn) {
	if c.secure != nil {
		c.secure.CloseNotify()
		cs.flushSecure(c)
	}
}

// secureAhead is how much is encrypted before the socket has taken it: three records. What is encrypted
// cannot be taken back when its request times out.
const secureAhead = 3 * plainSize
