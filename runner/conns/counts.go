package conns

import (
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/measure"
)

// connectedNow handles the first octet that moved over a connection made by connectNow.
func (cs *Connections) connectedNow(c *Conn) {
	if !c.sentNothing {
		took := (cs.net.Now() - c.since) / 1000
		cs.timesOf(c).Connect.Record(took)
		cs.timesOf(c).TCPConnect.Record(took)
	}
	cs.countConnect(c)
	cs.handle(c, connected)
}

func (cs *Connections) countConnect(c *Conn) {
	cs.rec.Connects++
	if c.wasOpen {
		cs.rec.Reconnects++
	}
}

// countDialed counts a connection of the dialer and the times of its phases.
func (cs *Connections) countDialed(c *Conn, d *dial.Connection) {
	cs.countConnect(c)
	t, p := cs.timesOf(c), &d.Phases
	t.Connect.Record(d.Took.Microseconds())
	if p.Named {
		t.NameResolution.Record(p.NameResolution.Microseconds())
	}
	t.TCPConnect.Record(p.TCPConnect.Microseconds())
	if c.socket.Secure != nil {
		t.TLSHandshake.Record(p.TLSHandshake.Microseconds())
	}
}

// timesOf returns where the times of a connection are recorded.
func (cs *Connections) timesOf(c *Conn) *measure.Target {
	return &cs.rec.Targets[cs.pools[c.target].Origin]
}
