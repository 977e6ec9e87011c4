package listen

import (
	"crypto/x509"
	"errors"
	"time"

	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/protocol"
)

// served is a connection that a peer has opened. It has no lifecycle but open and closed.
type served struct {
	ls       *Listeners
	h2       *h2.Server
	socket   netio.Socket // closed: the record is free
	listener int32
	index    int32
	// opened is the number of the connection.
	opened uint64
	// isNamed: the client certificate has a name that the listener requires.
	isNamed bool
	// isCut: a rule ends the connection without a response.
	isCut bool
	// isDirty: listeners.dirty has the connection.
	isDirty bool
	// lastReadAt is when the peer sent something last.
	lastReadAt int64
}

// MaxServed bounds the connections of a worker, which take memory and descriptors until their peers close them. A peer
// that does not read can make the worker store 1 MiB for each.
const MaxServed = 1024

// maxSilence is how long a peer may be silent before its connection makes place for another one.
const maxSilence = 5 * time.Second

// FirstData is the first data of the events of served connections. Those of connections to targets are below it.
const FirstData = 1 << 30

// maxReads bounds the reads from one connection in a turn, so that it cannot starve others.
const maxReads = 4

// Serve takes a connection that a peer has opened to a listener.
func (ls *Listeners) Serve(i int, d *dial.Connection) {
	if ls.ended || len(ls.conns)-len(ls.free)-len(ls.closed) >= MaxServed && !ls.closeSilent() {
		ls.refuseConnection(i)
		d.Close()
		return
	}
	c := ls.record()
	var err error
	if c.socket, err = netio.Open(ls.net, d, FirstData+c.index); err != nil {
		ls.log.Error("cannot serve a connection of a listener", "listener", ls.all[i].plan.Name, "err", err)
		ls.free = append(ls.free, c.index)
		return
	}
	c.listener, c.lastReadAt = int32(i), ls.now
	var certificates []*x509.Certificate
	if s := c.socket.Secure; s != nil {
		certificates = s.State().PeerCertificates
	}
	c.isNamed = ls.all[i].callers.Names(certificates)
	c.h2 = h2.NewServer(h2.Config{}, protocol.WantHeaders|protocol.WantBody, c)
	c.markDirty()
	if c.socket.Secure != nil {
		c.take(nil) // the handshake may have read more than its own records
	}
}

// closeSilent closes the connection that has been silent longest. It returns false if all peers have sent something a
// short time ago.
func (ls *Listeners) closeSilent() bool {
	var silent *served
	for _, c := range ls.conns {
		if c.socket.IsOpen() && (silent == nil || c.lastReadAt < silent.lastReadAt) {
			silent = c
		}
	}
	if silent == nil || ls.now-silent.lastReadAt < int64(maxSilence) {
		return false
	}
	silent.end()
	return true
}

// refuseConnection logs the first connection that is not served.
func (ls *Listeners) refuseConnection(i int) {
	if !ls.ended && !ls.overloaded {
		ls.overloaded = true
		ls.log.Warn("the peers of listeners have too many connections, and all of them sent something within maxSilence; further ones are closed, but not logged", "listener", ls.all[i].plan.Name, "limit", MaxServed, "maxSilence", maxSilence)
	}
}

func (ls *Listeners) record() *served {
	ls.opened++
	if n := len(ls.free); n > 0 {
		c := ls.conns[ls.free[n-1]]
		ls.free = ls.free[:n-1]
		*c = served{ls: ls, index: c.index, opened: ls.opened}
		return c
	}
	c := &served{ls: ls, index: int32(len(ls.conns)), opened: ls.opened}
	ls.conns = append(ls.conns, c)
	return c
}

// Ready handles an event of a served connection.
func (ls *Listeners) Ready(ev *netio.Event) {
	c := ls.conns[ev.Data-FirstData]
	if ev.Writable && c.socket.AwaitsWritable() {
		c.write()
	}
	if ev.Readable && c.socket.IsOpen() {
		c.receive()
	}
}

// receive reads what has come. A peer that sends and does not read is disconnected: its responses must not fill the
// memory.
func (c *served) receive() {
	ls := c.ls
	for range maxReads {
		n, st := c.socket.Read(ls.read)
		if st == netio.Again {
			break
		}
		if st != netio.OK {
			c.close()
			return
		}
		ls.rec.BytesReceived += int64(n)
		c.lastReadAt = ls.now
		if !c.take(ls.read[:n]) {
			return
		}
		if n < len(ls.read) {
			break
		}
	}
	c.markDirty()
}

// take passes octets of the socket to the session. It returns false if the connection is closed.
func (c *served) take(p []byte) (open bool) {
	ls := c.ls
	sent, st, err := c.socket.Take(p, &ls.plain, c, ls.now)
	ls.rec.BytesSent += int64(sent)
	switch {
	case st != netio.OK || errors.Is(err, errCongested) || errors.Is(err, errCut):
		c.close()
	case err != nil:
		c.refuse(err)
	}
	return c.socket.IsOpen()
}

var (
	errCongested = errors.New("the peer does not read what it makes the worker send")
	errCut       = errors.New("a rule ends the connection")
)

// Receive implements netio.Input.
func (c *served) Receive(p []byte, now int64) error {
	err := c.h2.Receive(p, now)
	switch {
	case c.isCut:
		return errCut
	case err != nil || !c.h2.Congested():
		return err
	}
	if c.write(); c.h2.Congested() {
		return errCongested
	}
	return nil
}

// refuse closes the connection of a peer that broke the protocol, and says why.
func (c *served) refuse(err error) {
	ls := c.ls
	if l := &ls.all[c.listener]; !l.warned {
		l.warned = true
		ls.log.Warn("a peer of a listener broke the protocol; others are not logged", "listener", l.plan.Name, "err", err)
	}
	c.write()
	if errors.Is(err, h2.ErrPreface) {
		answer := octets(notHTTP2)
		c.send(&answer)
	}
	c.close()
}

// notHTTP2 is what a peer gets that does not speak HTTP/2 with prior knowledge (RFC 9113 3.3).
const notHTTP2 = "HTTP/1.1 505 HTTP Version Not Supported\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n" +
	"A listener of h2surge speaks HTTP/2 with prior knowledge only.\n"

// octets are sent without a session.
type octets []byte

func (o *octets) Pending() []byte { return *o }
func (o *octets) Wrote(n int)     { *o = (*o)[n:] }

// markDirty notes that the connection may have octets to send.
func (c *served) markDirty() {
	if !c.isDirty {
		c.isDirty = true
		c.ls.dirty = append(c.ls.dirty, c.index)
	}
}

// Flush writes what this turn has made.
func (ls *Listeners) Flush() {
	for _, i := range ls.dirty {
		c := ls.conns[i]
		c.isDirty = false
		if c.socket.IsOpen() && !c.socket.AwaitsWritable() {
			c.write()
		}
	}
	ls.dirty = ls.dirty[:0]
	ls.free = append(ls.free, ls.closed...)
	ls.closed = ls.closed[:0]
}

// write sends what is pending.
func (c *served) write() { c.send(c.h2) }

// send sends octets until the socket is full. It closes the connection if the socket is broken.
func (c *served) send(from netio.Output) {
	if !c.socket.IsOpen() {
		return
	}
	n, st, err := c.socket.Write(from)
	c.ls.rec.BytesSent += int64(n)
	if err != nil || st == netio.Closed {
		c.close()
	}
}

// close closes the connection, unless it is closed already.
func (c *served) close() {
	if c.socket.IsOpen() {
		c.socket.Close()
		c.h2.Close()
		c.ls.closed = append(c.ls.closed, c.index)
	}
}

// end closes the connection with GOAWAY, so that the peer knows which notifications it must send again.
func (c *served) end() {
	c.h2.Shutdown()
	c.write()
	c.ls.rec.BytesSent += int64(c.socket.CloseNotify())
	c.close()
}
