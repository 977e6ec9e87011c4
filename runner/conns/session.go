package conns

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/protocol"
)

// session is what h1.Client and h2.Client have in common. What is called for each request goes by
// the concrete type (the methods of conn below), which costs a branch and not an indirect call.
type session interface {
	Receive(p []byte, now int64) error
	Ready() bool
	netio.Output
	InFlight() int
	Draining() bool
	Cancel(id uint32, now int64) bool
	Shutdown()
	Close()
}

// beginSession gives a connected socket the session of its protocol.
func (cs *Connections) beginSession(c *Conn, d *dial.Connection) {
	t := &cs.pools[c.target]
	t.protocol = d.Protocol
	if d.Protocol == rv.ProtocolHTTP1 { // it takes requests from now on
		c.h1 = t.newHTTP1(cs.cfg.Handler)
		c.session, c.head = c.h1, t.heads[c.endpoint]
		t.connecting -= connectingIn[c.state]
		return
	}
	c.h2 = h2.NewClient(t.http2, cs.cfg.Handler)
	c.session, c.encoder = c.h2, t.encoders[c.endpoint]
}

// newHTTP1 returns a session over HTTP/1.1, from the spare ones if there are any.
func (p *pool) newHTTP1(h protocol.Handler) *h1.Client {
	if n := len(p.spare); n > 0 {
		s := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return s
	}
	return h1.NewClient(p.http1, h)
}

// endSession frees the session of a connection that has closed.
func (cs *Connections) endSession(c *Conn) {
	if c.h1 != nil {
		c.h1.Reset()
		t := &cs.pools[c.target]
		t.spare = append(t.spare, c.h1)
	}
	c.session, c.h2, c.h1, c.encoder, c.head = nil, nil, nil, nil, nil
}

// isOver returns true if the session takes no more requests and has all responses.
func (c *Conn) isOver() bool { return c.session.Draining() && c.session.InFlight() == 0 }

// capacity returns how many requests the connection can take now.
func (c *Conn) capacity() int {
	switch {
	case c.state == open && c.h2 != nil:
		return c.h2.Free()
	case c.h1 != nil && (c.state == open || c.state == dialing):
		return c.h1.Free()
	}
	return 0
}

// AppendHeaders appends the header of a step's request to the out buffer of the session.
func (c *Conn) AppendHeaders(s *chain.Step, in *chain.Instance, body int, cookie []byte) (buf []byte) {
	if c.h1 != nil {
		return c.head.AppendHead(c.h1.Begin(), s, in, body, cookie)
	}
	c.checkTable()
	buf, c.table = c.encoder.AppendHeaders(c.h2.Begin(), s, in, body, c.table, cookie)
	return buf
}

// AppendMessage appends the header of a request that is a message already, and returns the buffer and the header.
func (c *Conn) AppendMessage(m *message.Message) (buf, header []byte) {
	if c.h1 != nil {
		begin := c.h1.Begin()
		buf = c.head.AppendMessage(begin, m, len(m.Body))
		return buf, buf[len(begin):]
	}
	c.checkTable()
	begin := c.h2.Begin()
	buf = c.encoder.AppendMessage(begin, m, len(m.Body))
	return buf, buf[len(begin):]
}

// OpenRequest passes a request to the session, whose header is at the end of buf.
func (c *Conn) OpenRequest(buf []byte, tok uint32, body []byte, want protocol.Want) (stream uint32) {
	if c.h1 != nil {
		return c.h1.Open(buf, tok, body, want)
	}
	return c.h2.Open(buf, tok, body, want)
}

// checkTable stops indexing when the peer has shrunk its table (RFC 7541 4.2).
func (c *Conn) checkTable() {
	if c.h2.EncoderTableEpoch() != c.tableEpoch {
		c.table = chain.Static
	}
}

// beginTable sets the encoder up for what the peer allows.
func (c *Conn) beginTable(bound uint32) {
	if c.h2 != nil {
		c.tableEpoch = c.h2.EncoderTableEpoch()
		c.table = c.encoder.Begin(min(c.h2.EncoderTableSize(), bound))
	}
}

// broken says that the session wants its connection closed: HTTP/1.1 cannot cancel a request
// otherwise.
func (c *Conn) broken() bool { return c.h1 != nil && c.h1.Broken() }

// ping asks the peer for a sign of life, if the protocol can.
func (c *Conn) ping() {
	if c.h2 != nil {
		c.h2.Ping()
	}
}
