package conns

// readiness is which connections must open before the worker is ready.
type readiness struct {
	awaited int
	// problem is the last connection failure until they are open.
	problem string
}

// Awaited returns how many connections must open before the worker is ready.
func (r *readiness) Awaited() int { return r.awaited }

// Problem returns the last failure to open a connection without which the worker is not ready.
func (r *readiness) Problem() string { return r.problem }

// await makes the worker wait for a connection.
func (r *readiness) await(c *Conn) {
	c.awaited = true
	r.awaited++
}

// stopAwaiting notes that the worker does not wait for the place any more: it has an open connection, or is given up.
func (r *readiness) stopAwaiting(c *Conn) {
	if !c.awaited {
		return
	}
	c.awaited = false
	if r.awaited--; r.awaited == 0 {
		r.problem = ""
	}
}

// makeSurplus lets a connection give up its place.
func (r *readiness) makeSurplus(c *Conn) {
	r.stopAwaiting(c)
	c.role = surplus
}
