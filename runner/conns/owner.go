package conns

// ownerEnded is the owner of a connection that closes, because its chain instance has ended.
const ownerEnded = -1

// TakeFor returns the connection for the next request of a chain instance: its own, if it has one, or else what Take
// returns. nil: no stream is free.
func (p *Pool) TakeFor(instance int32) *Conn {
	c := p.OwnedBy(instance)
	switch {
	case c == nil:
		return p.Take()
	case c.free() > 0:
		return c
	}
	return nil
}

// OwnedBy returns the connection of a chain instance; nil: it has none.
func (p *Pool) OwnedBy(instance int32) *Conn {
	if int(instance) >= len(p.owned) {
		return nil
	}
	return p.owned[instance]
}

// Own gives a connection to a chain instance, with Plan.Connecting.PerInstance. It returns false if it is that of the
// instance already.
func (p *Pool) Own(c *Conn, instance int32) bool {
	if !p.Plan.Connecting.PerInstance || c.owner != 0 {
		return false
	}
	for int(instance) >= len(p.owned) {
		p.owned = append(p.owned, nil)
	}
	c.owner, p.owned[instance] = instance+1, c
	return true
}

// disown takes a connection from its chain instance, because its socket is closed or the instance has ended.
func (p *Pool) disown(c *Conn) {
	if c.owner > 0 {
		p.owned[c.owner-1] = nil
	}
	c.owner = 0
}

// InstanceEnded lets the connections of a chain instance close at the end of the turn: a session may be in a call.
func (cs *Connections) InstanceEnded(instance int32) {
	for i := 0; cs.perInstance && i < len(cs.pools); i++ {
		p := &cs.pools[i]
		if c := p.OwnedBy(instance); c != nil {
			p.disown(c)
			c.owner = ownerEnded
			cs.leaving = append(cs.leaving, c)
		}
	}
}

// closeLeaving closes the connections of chain instances that have ended. One that the loop still connects stays until
// it is open.
func (cs *Connections) closeLeaving() {
	kept := cs.leaving[:0]
	for _, c := range cs.leaving {
		switch {
		case c.owner != ownerEnded:
		case c.state == open:
			cs.handle(c, retired)
			cs.cfg.SkipWait() // another instance may wait for a connection
		case connectingIn[c.state] != 0:
			kept = append(kept, c)
		}
	}
	cs.leaving = kept
}
