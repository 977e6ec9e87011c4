// Package target is the service under test of a simulation: a server of HTTP/2 or HTTP/1.1 whose behaviour can change
// at any time, and which shows each request that arrives.
package target

import (
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/h2surge/h2surge/test/peer"
)

// Target is a server on one listener.
type Target struct {
	http1 bool
	begin time.Time

	mu sync.Mutex // guards the fields below, those of the connections, and calls of functions
	// serve answers requests, received sees them.
	serve    func(*peer.Request) peer.Reply
	received func(r *peer.Request, from string, sent time.Time)
	refuses  bool
	accepted int
	conns    []*conn
}

// conn is a connection that both sides have open.
type conn struct {
	peer.Peer
	of      *Target
	net     net.Conn
	from    string
	sent    time.Time     // when the peer sent what was read last
	written chan struct{} // has a token when Out or Closed has changed
}

// Serve answers the connections of a listener until it is closed. received is called with each request,
// the IP address that it is from, and when it was sent; it must not call the Target.
func Serve(l net.Listener, http1 bool, received func(r *peer.Request, from string, sent time.Time)) *Target {
	t := &Target{http1: http1, begin: time.Now(), received: received}
	t.Set(nil)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if secure, ok := c.(*tls.Conn); ok {
				go t.secure(secure)
				continue
			}
			t.accept(c)
		}
	}()
	return t
}

// latency is the time until a response if nothing else is set.
const latency = 3 * time.Millisecond

// Set changes how requests are answered from now on; nil: 200 after a short time.
func (t *Target) Set(serve func(*peer.Request) peer.Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.serve = serve; serve == nil {
		t.serve = func(*peer.Request) peer.Reply { return peer.Reply{After: latency, Status: 200} }
	}
}

// Refuse closes all connections, and those that come, until it is called with false.
func (t *Target) Refuse(refuses bool) {
	t.mu.Lock()
	t.refuses = refuses
	t.mu.Unlock()
	if refuses {
		t.Each(func(p *peer.Peer) { p.Closed = true })
	}
}

// Each changes all connections.
func (t *Target) Each(f func(*peer.Peer)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		f(&c.Peer)
		c.wrote()
	}
}

// Connections returns how many are open.
func (t *Target) Connections() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.conns)
}

// secure accepts a connection after its handshake. A read and a write that begin during a handshake wait for a lock,
// which stops the time of a bubble.
func (t *Target) secure(c *tls.Conn) {
	if err := c.Handshake(); err != nil {
		_ = c.Close() // the client sees it
		return
	}
	t.accept(c)
}

func (t *Target) accept(socket net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refuses {
		_ = socket.Close() // never fails
		return
	}
	from, _, _ := net.SplitHostPort(socket.RemoteAddr().String()) // of a network.Network
	c := &conn{of: t, net: socket, from: from, written: make(chan struct{}, 1)}
	c.Peer = peer.Peer{
		Index: t.accepted, HTTP1: t.http1, Now: func() time.Duration { return time.Since(t.begin) }, Later: c.later,
		Serve: c.serve,
	}
	c.Init()
	t.accepted++
	if !t.http1 {
		_ = c.Framer().WriteSettings() // to a buffer
	}
	t.conns = append(t.conns, c)
	go c.read()
	go c.write()
}

func (c *conn) serve(r *peer.Request) peer.Reply {
	c.of.received(r, c.from, c.sent)
	return c.of.serve(r)
}

func (c *conn) later(after time.Duration, do func()) {
	if after <= 0 {
		do()
		return
	}
	time.AfterFunc(after, func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		do()
		c.wrote()
	})
}

func (c *conn) wrote() {
	select {
	case c.written <- struct{}{}:
	default:
	}
}

func (c *conn) read() {
	socket := c.net
	if secure, ok := socket.(*tls.Conn); ok {
		socket = secure.NetConn()
	}
	b := make([]byte, 4096)
	for {
		n, err := c.net.Read(b)
		sent := socket.(interface{ Sent() time.Time }).Sent() // of a network.Network
		c.of.mu.Lock()
		c.sent = sent
		c.In.Write(b[:n])
		if bad := c.Parse(); bad != nil || err != nil {
			c.Closed = true
		}
		ended := c.Closed
		c.wrote()
		c.of.mu.Unlock()
		if ended {
			return
		}
	}
}

// write writes what is pending, and closes the connection at its end.
func (c *conn) write() {
	defer c.net.Close() //nolint:errcheck // never fails
	for range c.written {
		c.of.mu.Lock()
		out := slices.Clone(c.Out.Bytes())
		c.Out.Reset()
		ended := c.Closed
		c.of.mu.Unlock()
		if _, err := c.net.Write(out); err != nil || ended {
			c.of.drop(c)
			return
		}
	}
}

func (t *Target) drop(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Closed = true
	t.conns = slices.DeleteFunc(t.conns, func(o *conn) bool { return o == c })
}
