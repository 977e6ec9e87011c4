package conns

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// timerKind is what a connection waits for. These timers are rare, and one heap has the connections with a timer;
// requests' timeouts are in lists of their own (package book).
type timerKind uint8

const (
	// wantTimer: the ramp, the back-off or the time to reopen is over.
	wantTimer timerKind = iota
	// connectTimer: connectTimeout is over since the loop began to connect, or since the connection began to wait for
	// SETTINGS (RFC 9113 3.4).
	connectTimer
	// trialTimer: a trial over HTTP/1.1 has stayed open.
	trialTimer
	// ageTimer: the connection has reached its greatest age.
	ageTimer
	// inactivityTimer: requests are in flight and nothing comes.
	inactivityTimer
	// pingTimer: nothing has come for the ping interval.
	pingTimer
	// failbackTimer: the connection tries its first endpoint again.
	failbackTimer
	// resetTimer: streams are abandoned, and the budget for resetting them refills.
	resetTimer

	timerKinds = iota
)

// firesIn has a bit for each state in which a timer has an effect.
var firesIn = [...]uint16{
	wantTimer:       1<<idle | 1<<backoff,
	connectTimer:    1<<dialing | 1<<opening,
	trialTimer:      1 << opening,
	ageTimer:        1 << open,
	inactivityTimer: 1<<open | 1<<draining,
	pingTimer:       1 << open,
	failbackTimer:   1<<connStates - 1<<idle, // all but Closing
	resetTimer:      1 << open,
}

// Fire fires what is due. A timer that has no effect in the state of its connection is dropped.
func (cs *Connections) Fire() {
	for cs.timers.next() <= cs.now {
		if c, kind := cs.takeTimer(); firesIn[kind]&(1<<c.state) != 0 {
			cs.fire(c, kind)
		}
	}
}

func (cs *Connections) fire(c *Conn, kind timerKind) {
	t := cs.pools[c.target].Plan
	switch kind {
	case wantTimer:
		cs.handle(c, wanted)
	case connectTimer:
		cs.fireConnect(c, t.ConnectTimeout)
	case trialTimer:
		cs.handle(c, usable)
		cs.offer(c)
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

// fireConnect loses a connection that is not open within the limit. The timer may have been set while the loop connected,
// and the wait for SETTINGS begins after that.
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
	cs.lose(c, cs.brokenBy(c, kind, limit.String()))
}

// fireInactivity loses a connection that owes responses and is silent. The timer is not moved
// with every read; it looks at the last one when it fires and is set again for what is left.
func (cs *Connections) fireInactivity(c *Conn, limit time.Duration) {
	silent := time.Duration(cs.now - c.receivedAt)
	if c.session.InFlight() == 0 {
		c.receivedAt = cs.now // idle is not silent
		silent = 0
	}
	if silent >= limit {
		cs.lose(c, cs.brokenBy(c, rv.CauseSilent, limit.String()))
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
		cs.lose(c, cs.brokenBy(c, rv.CausePing, interval.String()))
		return
	}
	c.ping()
	c.pingedAt = cs.now
	cs.markDirty(c)
	cs.arm(c, pingTimer, interval)
}
