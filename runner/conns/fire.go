package conns

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Fire fires what is due. A timer that has no effect in the state of its connection is dropped.
func (cs *Connections) Fire() {
	for cs.Next() <= cs.now {
		if c, kind := cs.timers.take(); firesIn[kind]&(1<<c.state) != 0 {
			cs.fire(c, kind)
		}
	}
}

func (cs *Connections) fire(c *Conn, kind timerKind) {
	t := c.pool.Plan
	switch kind {
	case wantTimer:
		cs.handle(c, wanted)
	case connectTimer:
		cs.fireConnect(c, t.ConnectTimeout)
	case trialTimer:
		cs.handle(c, usable)
		c.pool.Offer(c)
	case failbackTimer:
		cs.tryFirstEndpoint(c)
	case inactivityTimer:
		cs.fireInactivity(c, t.Connecting.InactivityTimeout)
	case ageTimer:
		cs.handle(c, retired)
	case pingTimer:
		cs.firePing(c, t.HTTP2.PingInterval)
	case resetTimer:
		cs.resetAbandoned(c)
	}
}

// fireConnect loses a connection that is not open within the limit. The timer may have been set while the loop
// connected, and the wait for SETTINGS begins after that.
func (cs *Connections) fireConnect(c *Conn, limit time.Duration) {
	if left := limit - time.Duration(cs.now-c.since); left > 0 {
		cs.arm(c, connectTimer, left)
		return
	}
	if c.state == dialing && c.sentNothing && !c.socket.AwaitsWritable() { // perhaps it is connected for long
		if err := c.socket.AwaitWritable(true); err != nil {
			cs.cfg.Log.Error("cannot watch a connection", "err", err)
		}
		cs.arm(c, connectTimer, limit)
		return
	}
	kind := rv.CauseNoSettings
	if c.state == dialing {
		kind = rv.CauseConnectTimeout
	}
	cs.lose(c, c.cause(kind, limit.String()))
}

// fireInactivity loses a connection that owes responses and is silent. A peer without a request is not silent. The
// timer is not moved with every read; it looks at the last one when it fires and is set again for what is left.
func (cs *Connections) fireInactivity(c *Conn, limit time.Duration) {
	silent := time.Duration(-min(c.silentSince, 0))
	if c.inFlight() > 0 {
		silent = time.Duration(cs.now - c.silentSince)
	}
	if silent >= limit {
		cs.lose(c, c.cause(rv.CauseSilent, limit.String()))
		return
	}
	cs.arm(c, inactivityTimer, limit-silent)
}

// firePing asks a silent peer whether it is there, and loses a connection on which nothing has come for an
// interval after that.
func (cs *Connections) firePing(c *Conn, interval time.Duration) {
	silent := time.Duration(cs.now - c.receivedAt)
	switch asked := c.pingedAt > c.receivedAt; {
	case silent < interval:
		cs.arm(c, pingTimer, interval-silent)
		return
	case asked && cs.now-c.pingedAt >= int64(interval):
		cs.lose(c, c.cause(rv.CausePing, interval.String()))
		return
	}
	if c.h2 != nil {
		c.h2.Ping()
	}
	c.pingedAt = cs.now
	cs.markDirty(c)
	cs.arm(c, pingTimer, interval)
}
