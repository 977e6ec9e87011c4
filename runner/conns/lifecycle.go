package conns

import "github.com/h2surge/h2surge/internal/failure"

// connState is where a connection is in its lifecycle. The table of transitions below is the only place that
// changes it.
type connState uint8

const (
	// closing: the connection has ended for good. Its record is freed at the end of the turn. A free record has
	// this state, too.
	closing connState = iota
	// idle: no socket. The connection waits for the ramp, for its time to reopen, or for a request.
	idle
	// backoff: no socket, after a failure.
	backoff
	// resolving: the dialer waits for its turn and resolves the host name.
	resolving
	// dialing: TCP connects, or a Unix socket. If the loop connects itself, the connection has its socket and session
	// already, and takes HTTP/1.1 requests; they are sent when the socket is connected.
	dialing
	// handshaking: the dialer shakes hands by TLS.
	handshaking
	// opening: the socket is connected. The connection waits for the peer's SETTINGS; a trial over HTTP/1.1 waits for
	// trialTime.
	opening
	// open: the connection takes requests.
	open
	// draining: the connection takes no more requests and waits for responses.
	draining

	connStates = iota
)

// connEvent is what happens to a connection.
type connEvent uint8

const (
	// wanted: a socket is wanted now.
	wanted connEvent = iota
	// resolved: the address is known, or the next address of the name is tried.
	resolved
	// accepted: the peer has accepted the TCP connection, and TLS begins.
	accepted
	// connected: the socket is connected, and the TLS handshake is done.
	connected
	// usable: requests can be sent.
	usable
	// retired: the connection must take no more requests: its age, its number of requests, the end that the peer
	// announced, or a successor says so.
	retired
	// superseded: another connection takes its place while it drains.
	superseded
	// responded: the first response on the socket is complete.
	responded
	// ended: the socket is of no more use, and that is not a failure.
	ended
	// failed: the socket is of no more use, or could not be opened, because of a failure.
	failed
	// removed: the connection is not needed any more.
	removed

	connEvents = iota
)

// action is what a transition does. A transition's actions are taken in the order of their bits.
type action uint16

const (
	closeSocket   action = 1 << iota // close the socket; forget the attempt to connect and all timers of the socket
	noteDown                         // note when the connection stopped being open
	resetFailures                    // forget earlier failures
	countFailure                     // count the failure; the next attempt goes to the next endpoint or address
	// set the timer of the next attempt: 10 ms, doubled with each failure in a row up to 1 s
	armBackoff
	connect // choose endpoint and address, and connect
	// HTTP/2 waits for SETTINGS until connectTimeout, a trial over HTTP/1.1 for trialTime; else it is usable now
	awaitUsable
	// be ready; set the timers of age, inactivity, PING and failback; a trial takes the place it is for
	becomeOpen
	drain   // close the connection if nothing is in flight; else another one may take its place
	replace // give the place to a new connection, which connects at once or on demand
	// connect again: at once after a request, else after 20 ms or when a request waits; on demand, only then
	connectAgain
	release // give up the place; free the record

	actions = iota
)

// transition is an edge of the lifecycle.
type transition struct {
	from connState
	on   connEvent
	to   connState
	does action
}

// transitions are all edges. What has no edge does not happen.
var transitions = [...]transition{
	{idle, wanted, resolving, connect},
	{idle, removed, closing, closeSocket | release},
	{backoff, wanted, resolving, connect},
	{backoff, removed, closing, closeSocket | release},
	{resolving, resolved, dialing, 0},
	{resolving, failed, backoff, closeSocket | countFailure | armBackoff},
	{resolving, removed, closing, closeSocket | release},
	{dialing, resolved, dialing, 0},
	{dialing, accepted, handshaking, 0},
	{dialing, connected, opening, awaitUsable},
	{dialing, failed, backoff, closeSocket | countFailure | armBackoff},
	{dialing, removed, closing, closeSocket | release},
	{handshaking, resolved, dialing, 0},
	{handshaking, connected, opening, awaitUsable},
	{handshaking, failed, backoff, closeSocket | countFailure | armBackoff},
	{handshaking, removed, closing, closeSocket | release},
	{opening, usable, open, becomeOpen},
	{opening, failed, backoff, closeSocket | countFailure | armBackoff},
	{opening, removed, closing, closeSocket | release},
	{open, responded, open, resetFailures},
	{open, retired, draining, drain},
	{open, ended, idle, closeSocket | noteDown | connectAgain},
	{open, failed, backoff, closeSocket | noteDown | countFailure | armBackoff},
	{open, removed, closing, closeSocket | release},
	{draining, responded, draining, resetFailures},
	{draining, superseded, draining, replace},
	{draining, ended, idle, closeSocket | noteDown | connectAgain},
	{draining, failed, backoff, closeSocket | noteDown | countFailure | armBackoff},
	{draining, removed, closing, closeSocket | release},
}

// next has the edge for each state and event; nil: no edge.
var next = func() (n [connStates][connEvents]*transition) {
	for i := range transitions {
		t := &transitions[i]
		n[t.from][t.on] = t
	}
	return n
}()

// lifecycle takes connections along the edges of the table. What an action needs is here, and nothing that decides when
// an event happens.
type lifecycle struct {
	cfg Config
	counts
	records
	readiness
	timers
	// dirty connections may have octets to send.
	dirty []*Conn
	plain []byte // what TLS has decrypted
	// ending is why a connection ends, valid while its session is closed.
	ending failure.Cause
	// watch sees every transition; nil but in tests.
	watch func(*transition)
}

// Ending returns why a connection ends, while its session gives each of its requests an outcome.
func (l *lifecycle) Ending() failure.Cause { return l.ending }

// handle takes a connection along the edge of an event.
func (l *lifecycle) handle(c *Conn, ev connEvent) {
	e := next[c.state][ev]
	if e == nil {
		l.cfg.Log.Error("an event without a transition", "state", c.state.String(), "event", ev.String())
		return
	}
	if l.watch != nil {
		l.watch(e)
	}
	before := c.connecting()
	if c.state != e.to {
		c.state, c.since = e.to, l.now
	}
	c.pool.connecting += c.connecting() - before
	for a := action(1); a <= e.does; a <<= 1 {
		if e.does&a != 0 {
			l.act(c, a)
		}
	}
}

// connectingIn is 1 for the states between the decision to connect and open.
var connectingIn = [connStates]int{resolving: 1, dialing: 1, handshaking: 1, opening: 1}

func (l *lifecycle) act(c *Conn, a action) {
	switch a {
	case closeSocket:
		l.closeSocket(c)
	case noteDown:
		c.downSince = l.now
	case resetFailures:
		c.answered, c.failures = true, 0
	case countFailure:
		c.failures++
		c.shift++
	case armBackoff:
		l.arm(c, wantTimer, c.backoff())
	case connect:
		l.connect(c)
	case awaitUsable:
		l.awaitUsable(c)
	case becomeOpen:
		l.becomeOpen(c)
	case drain:
		l.drain(c)
	case replace:
		l.replace(c)
	case connectAgain:
		l.connectAgain(c)
	case release:
		l.release(c)
	}
}

var (
	stateNames = [connStates]string{
		closing: "Closing", idle: "Idle", backoff: "Backoff", resolving: "Resolving", dialing: "Dialing",
		handshaking: "Handshaking", opening: "Opening", open: "Open", draining: "Draining",
	}
	eventNames = [connEvents]string{
		wanted: "wanted", resolved: "resolved", accepted: "accepted", connected: "connected", usable: "usable",
		retired: "retired", superseded: "superseded",
		responded: "responded", ended: "ended", failed: "failed", removed: "removed",
	}
	actionNames = [actions]string{
		"close the socket", "note the time", "reset the failures", "count the failure", "arm the back-off timer", "connect",
		"wait until usable",
		"take requests", "wait for responses", "give the place to a new connection", "connect again",
		"release the connection",
	}
)

func (s connState) String() string { return stateNames[s] }
func (e connEvent) String() string { return eventNames[e] }
