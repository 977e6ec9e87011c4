package conns

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/measure"
)

// counts writes the counts and times of connections.
type counts struct{ rec *measure.Recorder }

// Record lets another recorder get the counts from now on.
func (n *counts) Record(into *measure.Recorder) { n.rec = into }

// timesOf returns where the times of a connection are recorded.
func (n *counts) timesOf(c *Conn) *measure.Target { return &n.rec.Targets[c.pool.Origin] }

// countOctets counts what the socket of a connection has sent and received.
func (n *counts) countOctets(c *Conn, wrote, read int) {
	sent, received := c.socket.Octets(wrote, read)
	n.rec.BytesSent += sent
	n.rec.BytesReceived += received
}

func (n *counts) countConnect(c *Conn) {
	n.rec.Connects++
	if c.wasOpen && !c.pool.Plan.Connecting.PerInstance {
		n.rec.Reconnects++
	}
}

// countDialed counts a connection of the dialer and the times of its phases.
func (n *counts) countDialed(c *Conn, d *dial.Connection) {
	n.countConnect(c)
	if d.Resumed {
		n.rec.Resumed++
	}
	t, p := n.timesOf(c), &d.Phases
	t.Connect.Record(d.Took.Microseconds())
	if d.Addresses > 0 {
		t.NameResolution.Record(p.NameResolution.Microseconds())
	}
	if c.h3 == nil {
		t.TCPConnect.Record(p.TCPConnect.Microseconds())
	}
	if c.socket.IsSecure() {
		t.TLSHandshake.Record(p.TLSHandshake.Microseconds())
	}
}

// countHandshake counts how the handshake of a connection of HTTP/3 ended, which may be after the first requests.
func (n *counts) countHandshake(c *Conn) {
	code, ok := c.h3.Handshake()
	switch {
	case ok && code == h3.AcceptedEarly:
		n.rec.Resumed++
		n.rec.EarlyData++
	case ok && code == h3.Resumed:
		n.rec.Resumed++
	}
}

// countEnd counts a lost connection with its cause. How it ended is not the kind of the cause if a GOAWAY came before.
// A connection that ends before its session has the peer's SETTINGS is counted as a failed connect. One without a
// request that the peer closes is not counted, unless its GOAWAY announced an error.
func (n *counts) countEnd(c *Conn, how rv.Cause, why failure.Cause) {
	switch {
	case connectingIn[c.state] != 0:
		n.rec.CountFailure(rv.FailureConnect, why)
	case how == rv.CauseOtherTimedOut, c.errorCounted:
	case how == rv.CauseClosed && c.inFlight() == 0 && !c.announcedError():
	default:
		n.rec.CountFailure(rv.FailureConnection, why)
	}
}

// countGoAway stores why a connection takes no more requests after a GOAWAY, and counts the error of that.
func (n *counts) countGoAway(c *Conn) {
	if words, seen := c.GoAway(); seen {
		c.pool.disconnected(c.cause(rv.CauseGoAway, words))
	}
	n.countAnnounced(c)
}

// countAnnounced counts the error that a GOAWAY announces, once.
func (n *counts) countAnnounced(c *Conn) {
	if c.announcedError() && !c.errorCounted {
		c.errorCounted = true
		n.rec.CountFailure(rv.FailureConnection, c.orGoAway(c.cause(rv.CauseGoAway, "")))
	}
}
