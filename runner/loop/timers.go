package loop

import (
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// timerKind is what a connection waits for. These timers are rare and one heap keeps them all;
// requests' timeouts are in lists of their own (requests.go).
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
	// failbackTimer: the connection's first endpoint is to be tried again.
	failbackTimer
	// resetTimer: streams are abandoned, and the budget for resetting them refills.
	resetTimer

	// recordTimers survive the socket, because a target that closes each connection after a request must not cost a
	// timer for each. The others belong to the socket and end with it.
	recordTimers = 1<<failbackTimer | 1<<connectTimer
)

type timer struct {
	at   int64
	conn int32
	// owner is the connection's generation, or its incarnation for recordTimers.
	owner uint32
	kind  timerKind
}

func (t timer) due() int64 { return t.at }

// arm sets a timer for a connection unless it is set already or d is zero.
func (w *Worker) arm(c *conn, kind timerKind, d time.Duration) {
	if d <= 0 || c.armed&(1<<kind) != 0 {
		return
	}
	c.armed |= 1 << kind
	w.timers.push(timer{at: w.now + int64(d), conn: c.index, owner: c.owner(kind), kind: kind})
}

func (c *conn) owner(kind timerKind) uint32 {
	if recordTimers&(1<<kind) != 0 {
		return c.incarnation
	}
	return c.generation
}

// fireTimers does what has come due.
func (w *Worker) fireTimers() {
	for w.timers.next() <= w.now {
		t := w.timers.pop()
		c := &w.conns[t.conn]
		if c.owner(t.kind) != t.owner || c.state == closing {
			continue
		}
		c.armed &^= 1 << t.kind
		w.fire(c, t.kind)
	}
}

func (w *Worker) fire(c *conn, kind timerKind) {
	t := w.targets[c.target].plan
	switch kind {
	case wantTimer:
		w.happen(c, wanted)
	case connectTimer:
		w.fireConnect(c, t.ConnectTimeout)
	case trialTimer:
		w.happen(c, usable)
		w.offer(c.index)
	case failbackTimer:
		w.tryFirst(c)
	case inactivityTimer:
		w.fireInactivity(c, t.Connecting.InactivityTimeout)
	case ageTimer:
		if c.state == open {
			w.retire(c)
		}
	case pingTimer:
		if c.state == open {
			w.firePing(c, t.HTTP2.PingInterval)
		}
	case resetTimer:
		if c.state == open {
			w.resetAbandoned(c)
		}
	}
}

// fireConnect loses a connection that is not open within the limit. As the timer is the record's, it may have been set
// for an earlier socket.
func (w *Worker) fireConnect(c *conn, limit time.Duration) {
	if c.fd < 0 || c.state != dialing && (c.state != opening || c.h2 == nil) {
		return // it is open, or the dialer has its own limit
	}
	if left := limit - time.Duration(w.now-c.since); left > 0 {
		w.arm(c, connectTimer, left)
		return
	}
	kind := rv.CauseNoSettings
	if c.state == dialing {
		kind = rv.CauseConnectTimeout
	}
	w.lose(c, w.brokenBy(c, kind, ""))
}

// fireInactivity loses a connection that owes responses and is silent. The timer is not moved
// with every read; it looks at the last one when it fires and is set again for what is left.
func (w *Worker) fireInactivity(c *conn, limit time.Duration) {
	silent := time.Duration(w.now - c.receivedAt)
	if c.session.InFlight() == 0 {
		c.receivedAt = w.now // idle is not silent
		silent = 0
	}
	if silent >= limit {
		w.lose(c, w.brokenBy(c, rv.CauseSilent, limit.String()))
		return
	}
	w.arm(c, inactivityTimer, limit-silent)
}

// firePing asks a silent peer whether it is there, and loses a connection on which nothing has come for an
// interval after that.
func (w *Worker) firePing(c *conn, interval time.Duration) {
	silent := time.Duration(w.now - c.receivedAt)
	switch asked := c.pingedAt > c.receivedAt; {
	case silent < interval:
		w.arm(c, pingTimer, interval-silent)
		return
	case asked && w.now-c.pingedAt >= int64(interval):
		w.lose(c, w.brokenBy(c, rv.CausePing, interval.String()))
		return
	}
	c.ping()
	c.pingedAt = w.now
	w.touch(c)
	w.arm(c, pingTimer, interval)
}
