package loop

import (
	"crypto/x509"
	"errors"
	"log/slog"
	"time"

	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/notification"
	"github.com/h2surge/h2surge/runner/protocol"
)

// listeners are a worker's servers for notifications, with the connections that peers have opened to them. A connection
// is served as long as the worker runs. Only the methods of listeners and of served write their fields.
type listeners struct {
	*clock
	net       netio.Net
	log       *slog.Logger
	rec       *recorder
	exchanges exchanges
	all       []listener
	// conns has the records. The poller has an event's data of connData plus the index. free are the records that may be
	// used again, closed those that may be after the turn.
	conns        []*served
	free, closed []int32
	// dirty connections may have octets to send.
	dirty []int32
	// open are the notifications whose octets have not all come. spare are the records of open that can be used again.
	open  []notice
	spare []uint32
	// kept are the whole notifications, by handle: those that no step awaits yet, and one that is being handled. vacant are the handles that can be used again.
	kept   []notice
	vacant []int32
	// notified takes a whole notification. It owns the exchange.
	notified func(listener int32, n notice)
	read     []byte
	// plain is what TLS has decrypted; nil: no listener has TLS.
	plain []byte
	// ended: the worker has closed its connections, and serves no other. overloaded: a connection or a notification above a
	// limit was logged.
	ended, overloaded bool
}

// listener is a server for notifications.
type listener struct {
	plan  *chain.Listener
	table *notification.Table
	// received are the notifications so far, awaited the steps that began to wait, and failed the notifications that
	// failed a check.
	received, awaited, failed int64
	// callers checks the peers. refusedToken and refusedCertificate are the notifications that it has refused.
	callers                          *caller.Checker
	refusedToken, refusedCertificate int64
	// warned: a peer that broke the protocol was logged.
	warned bool
}

// served is a connection that a peer has opened. It has no lifecycle but open and closed.
type served struct {
	ls       *listeners
	h2       *h2.Server
	secure   *dial.Secure // nil: cleartext
	listener int32
	index    int32
	// fd is -1 for a record without a connection.
	fd int
	// isNamed: the client certificate has a name that the listener requires.
	isNamed bool
	// isDirty: listeners.dirty has the connection. awaitsWritable: the poller reports when the socket takes octets.
	isDirty, awaitsWritable bool
	// heardAt is when the peer sent something last.
	heardAt int64
}

// maxServed bounds the connections of a worker, which take memory and descriptors until their peers close them. A peer that does
// not read can make the worker store 1 MiB for each.
const maxServed = 1024

// maxSilence is how long a peer may be silent before its connection makes place for another one.
const maxSilence = 5 * time.Second

// connData is the first data of the events of served connections. Those of connections to targets are indices below it.
const connData = 1 << 30

// serve takes a connection that a peer has opened to a listener.
func (ls *listeners) serve(i int32, d *dial.Connection) {
	if ls.ended || len(ls.conns)-len(ls.free)-len(ls.closed) >= maxServed && !ls.closeSilent() {
		ls.refuseConnection(i)
		d.Close()
		return
	}
	c := ls.record()
	fd, err := ls.net.Adopt(d, connData+c.index)
	if err != nil {
		ls.log.Error("cannot serve a connection of a listener", "listener", ls.all[i].plan.Name, "err", err)
		ls.free = append(ls.free, c.index)
		return
	}
	c.listener, c.fd, c.secure, c.heardAt = i, fd, d.Secure, ls.now
	var certificates []*x509.Certificate
	if c.secure != nil {
		certificates = c.secure.State().PeerCertificates
	}
	c.isNamed = ls.all[i].callers.Names(certificates)
	c.h2 = h2.NewServer(h2.Config{}, protocol.WantHeaders|protocol.WantBody, c)
	c.stir()
	if c.secure != nil {
		c.decrypt() // the handshake may have read more than its own records
	}
}

// closeSilent closes the connection that has been silent longest. It returns false if all peers have sent something a short time ago.
func (ls *listeners) closeSilent() bool {
	var silent *served
	for _, c := range ls.conns {
		if c.fd >= 0 && (silent == nil || c.heardAt < silent.heardAt) {
			silent = c
		}
	}
	if silent == nil || ls.now-silent.heardAt < int64(maxSilence) {
		return false
	}
	silent.end()
	return true
}

// refuseConnection logs the first connection that is not served.
func (ls *listeners) refuseConnection(i int32) {
	if !ls.ended && !ls.overloaded {
		ls.overloaded = true
		ls.log.Warn("the peers of listeners have too many connections, and all of them sent something within maxSilence; further ones are closed, but not logged", "listener", ls.all[i].plan.Name, "limit", maxServed, "maxSilence", maxSilence)
	}
}

func (ls *listeners) record() *served {
	if n := len(ls.free); n > 0 {
		c := ls.conns[ls.free[n-1]]
		ls.free = ls.free[:n-1]
		*c = served{ls: ls, index: c.index, fd: -1}
		return c
	}
	c := &served{ls: ls, index: int32(len(ls.conns)), fd: -1}
	ls.conns = append(ls.conns, c)
	return c
}

// ready handles an event of a served connection.
func (ls *listeners) ready(ev *netio.Event) {
	c := ls.conns[ev.Data-connData]
	if c.fd < 0 {
		return
	}
	if ev.Writable && c.awaitsWritable {
		c.write()
	}
	if ev.Readable && c.fd >= 0 {
		c.receive()
	}
}

// receive reads what has come. A peer that sends and does not read is disconnected: its responses must not fill the
// memory.
func (c *served) receive() {
	ls := c.ls
	for range maxReads {
		n, st := ls.net.Read(c.fd, ls.read)
		if st == netio.Again {
			break
		}
		if st != netio.OK {
			c.close()
			return
		}
		ls.rec.BytesReceived += int64(n)
		c.heardAt = ls.now
		if !c.take(ls.read[:n]) {
			return
		}
		if n < len(ls.read) {
			break
		}
	}
	c.stir()
}

// take passes octets of the socket to the session. It returns false if the connection is closed.
func (c *served) take(p []byte) (open bool) {
	if c.secure == nil {
		return c.parse(p)
	}
	c.secure.Feed(p)
	return c.decrypt()
}

// decrypt passes what TLS has to the session. It returns false if the connection is closed.
func (c *served) decrypt() (open bool) {
	ls := c.ls
	if ls.plain == nil {
		ls.plain = make([]byte, netio.PlainSize)
	}
	for {
		n, err := c.secure.Read(ls.plain)
		if n > 0 && !c.parse(ls.plain[:n]) {
			return false
		}
		if errors.Is(err, dial.ErrMore) {
			return true
		}
		if err != nil {
			c.sendEncrypted() // the alert that says why
			if c.fd >= 0 {
				c.close()
			}
			return false
		}
	}
}

// parse passes plaintext to the session. It returns false if the connection is closed.
func (c *served) parse(p []byte) (open bool) {
	if err := c.h2.Receive(p, c.ls.now); err != nil {
		c.refuse(err)
		return false
	}
	if c.congested() {
		c.write()
		if c.fd >= 0 && c.congested() {
			c.close()
		}
	}
	return c.fd >= 0
}

// congested returns whether the peer does not read what it makes the worker send.
func (c *served) congested() bool {
	return c.h2.Congested() || c.secure != nil && netio.IsFlooded(c.secure)
}

// refuse closes the connection of a peer that broke the protocol, and says why.
func (c *served) refuse(err error) {
	ls := c.ls
	if l := &ls.all[c.listener]; !l.warned {
		l.warned = true
		ls.log.Warn("a peer of a listener broke the protocol; others are not logged", "listener", l.plan.Name, "err", err)
	}
	c.write()
	if c.fd < 0 {
		return
	}
	if errors.Is(err, h2.ErrPreface) {
		c.sendNotHTTP2()
	}
	if c.fd >= 0 {
		c.close()
	}
}

func (c *served) sendNotHTTP2() {
	if c.secure == nil {
		_, _ = c.ls.net.Send(c.fd, []byte(notHTTP2)) // the peer may have closed the connection
		return
	}
	if c.secure.Write([]byte(notHTTP2)) == nil {
		c.sendEncrypted()
	}
}

// notHTTP2 is what a peer gets that does not speak HTTP/2 with prior knowledge (RFC 9113 3.3).
const notHTTP2 = "HTTP/1.1 505 HTTP Version Not Supported\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n" +
	"A listener of h2surge speaks HTTP/2 with prior knowledge only.\n"

// stir notes that the connection may have octets to send.
func (c *served) stir() {
	if !c.isDirty {
		c.isDirty = true
		c.ls.dirty = append(c.ls.dirty, c.index)
	}
}

// flush writes what this turn has made.
func (ls *listeners) flush() {
	for _, i := range ls.dirty {
		c := ls.conns[i]
		c.isDirty = false
		if c.fd >= 0 && !c.awaitsWritable {
			c.write()
		}
	}
	ls.dirty = ls.dirty[:0]
	ls.free = append(ls.free, ls.closed...)
	ls.closed = ls.closed[:0]
}

// write sends what is pending until the socket is full.
func (c *served) write() {
	if c.secure != nil {
		c.writeSecure()
		return
	}
	for {
		p := c.h2.Pending()
		if len(p) == 0 {
			c.awaitWritable(false)
			return
		}
		n, ok := c.send(p)
		if !ok {
			return
		}
		c.h2.Wrote(n)
	}
}

// writeSecure is write over TLS.
func (c *served) writeSecure() {
	n, st, err := netio.WriteEncrypted(c.ls.net, c.fd, c.secure, c.h2)
	if err != nil {
		st = netio.Closed
	}
	c.sent(n, st)
}

// sendEncrypted sends what is encrypted, as far as the socket takes it.
func (c *served) sendEncrypted() { c.sent(netio.SendEncrypted(c.ls.net, c.fd, c.secure)) }

// send sends octets. It returns false if the socket takes none: it is full, or broken and now closed.
func (c *served) send(p []byte) (n int, ok bool) {
	n, st := c.ls.net.Send(c.fd, p)
	c.sent(n, st)
	return n, st == netio.OK
}

// sent counts what the socket has taken. The connection waits until the socket takes more, or is closed, if the status says so.
func (c *served) sent(n int, st netio.Status) {
	c.ls.rec.BytesSent += int64(n)
	if st == netio.Ended || st == netio.Closed {
		c.close()
		return
	}
	c.awaitWritable(st == netio.Again)
}

func (c *served) awaitWritable(want bool) {
	if c.awaitsWritable == want {
		return
	}
	c.awaitsWritable = want
	if err := c.ls.net.Interest(c.fd, connData+c.index, want); err != nil {
		c.close()
	}
}

// closeNotify sends the alert that ends TLS (RFC 8446 6.1).
func (c *served) closeNotify() {
	if c.secure != nil {
		c.secure.CloseNotify()
		c.sendEncrypted()
	}
}

func (c *served) close() {
	c.ls.net.Close(c.fd)
	c.fd = -1
	c.h2.Close()
	c.ls.closed = append(c.ls.closed, c.index)
}

// closeAll ends all connections.
func (ls *listeners) closeAll() {
	ls.ended = true
	for _, c := range ls.conns {
		if c.fd >= 0 {
			c.end()
		}
	}
}

// end closes the connection with GOAWAY, so that the peer knows which notifications it must send again.
func (c *served) end() {
	c.h2.Shutdown()
	c.write()
	if c.fd >= 0 {
		c.closeNotify()
	}
	if c.fd >= 0 {
		c.close()
	}
}
