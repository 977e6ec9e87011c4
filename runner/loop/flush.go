package loop

// touch notes that a connection may have bytes to send.
func (w *Worker) touch(c *conn) {
	if !c.dirty {
		c.dirty = true
		w.dirty = append(w.dirty, c.index)
	}
}

// flush writes what this turn has made, one call for each connection as a rule.
func (w *Worker) flush() {
	for _, i := range w.dirty {
		c := &w.conns[i]
		c.dirty = false
		if c.fd >= 0 && !c.watchesRoom {
			w.write(c)
			if !c.offered && w.offer(i) {
				w.skipWait() // too much waited to be sent, and no longer does
			}
		}
	}
	w.dirty = w.dirty[:0]
}

// write sends what is pending until the socket is full.
func (w *Worker) write(c *conn) {
	if c.secure != nil {
		w.writeSecure(c)
		return
	}
	for {
		p := c.session.Pending()
		if len(p) == 0 {
			w.watchRoom(c, false)
			return
		}
		n, st := w.net.Send(c.fd, p)
		switch st {
		case OK:
			c.session.Wrote(n)
			if c.state == dialing {
				w.connectedNow(c)
			}
			w.rec.BytesSent += int64(n)
		case Again:
			w.watchRoom(c, true)
			return
		case Closed:
			// The next read tells why, after what the peer may have said before.
			w.watchRoom(c, false)
			return
		}
	}
}

func (w *Worker) watchRoom(c *conn, want bool) {
	if c.watchesRoom == want {
		return
	}
	c.watchesRoom = want
	if err := w.net.Interest(c.fd, c.index, want); err != nil {
		w.cfg.Log.Error("cannot watch a connection", "err", err)
	}
}
