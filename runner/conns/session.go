package conns

import (
	"golang.org/x/net/http2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/netio"
	"github.com/h2surge/h2surge/runner/protocol"
)

// session is the protocol of a connected socket, and what renders requests in it. The zero value has none.
type session struct {
	// client is one of h3, h2 and h1. What is called for each request goes by these, which costs a branch and not an
	// indirect call.
	client  client
	h3      *h3.Client
	h2      *h2.Client
	h1      *h1.Client
	encoder *chain.Encoder // of HTTP/2 and HTTP/3
	head    *chain.Head    // of HTTP/1.1
	// table is the state of the peer's HPACK table for our requests.
	table chain.TableState
	// tableEpoch is the client's when table was begun.
	tableEpoch uint32
}

// client is what the clients have in common.
type client interface {
	Receive(p []byte, now int64) error
	Ready() bool
	netio.Output
	Draining() bool
	Cancel(id uint32, now int64) bool
	Shutdown()
	Close()
}

// Protocol returns one with the version of HTTP: rv.ProtocolHTTP1, rv.ProtocolH2 or rv.ProtocolH3.
func (s *session) Protocol() rv.Protocol {
	switch {
	case s.h1 != nil:
		return rv.ProtocolHTTP1
	case s.h3 != nil:
		return rv.ProtocolH3
	}
	return rv.ProtocolH2
}

// multiplexes returns whether the connection has streams, so that its requests end in any order.
func (s *session) multiplexes() bool { return s.h2 != nil || s.h3 != nil }

// GoAway returns the words of the last GOAWAY, and whether there was one.
func (s *session) GoAway() (words string, seen bool) {
	if s.h3 != nil {
		return "", s.h3.GoAway()
	}
	if s.h2 == nil {
		return "", false
	}
	if _, seen = s.h2.GoAway(); seen {
		words = s.h2.GoAwayWords()
	}
	return words, seen
}

// orGoAway returns the GOAWAY of the peer in place of a cause, if the peer has sent one.
func (s *session) orGoAway(why failure.Cause) failure.Cause {
	if words, seen := s.GoAway(); seen {
		why.Kind, why.Detail = rv.CauseGoAway, words
	}
	return why
}

// announcedError returns whether the peer has announced the connection's end by GOAWAY with an error.
func (s *session) announcedError() bool {
	if s.h2 == nil {
		return false
	}
	code, seen := s.h2.GoAway()
	return seen && code != http2.ErrCodeNo
}

// isOver returns true if the client takes no more requests and has all responses.
func (s *session) isOver() bool { return s.client.Draining() && s.inFlight() == 0 }

// inFlight returns how many requests will get an outcome.
func (s *session) inFlight() int {
	switch {
	case s.h1 != nil:
		return s.h1.InFlight()
	case s.h3 != nil:
		return s.h3.InFlight()
	}
	return s.h2.InFlight()
}

// broken returns whether the client wants its connection closed: HTTP/1.1 cannot cancel a request otherwise.
func (s *session) broken() bool { return s.h1 != nil && s.h1.Broken() }

// AppendHeaders appends the header of a step's request to the out buffer of the client.
func (s *session) AppendHeaders(step *chain.Step, in *chain.Instance, body int, cookie []byte) (buf []byte) {
	switch {
	case s.h1 != nil:
		return s.head.AppendHead(s.h1.Begin(), step, in, body, cookie)
	case s.h3 != nil:
		buf, _ = s.encoder.AppendHeaders(s.h3.Begin(), step, in, body, chain.Static, cookie)
		return buf
	}
	s.checkTable()
	buf, s.table = s.encoder.AppendHeaders(s.h2.Begin(), step, in, body, s.table, cookie)
	return buf
}

// AppendMessage appends the header of a request that is a message already, and returns the buffer and the header.
func (s *session) AppendMessage(m *message.Message) (buf, header []byte) {
	if s.h1 != nil {
		begin := s.h1.Begin()
		buf = s.head.AppendMessage(begin, m, len(m.Body))
		return buf, buf[len(begin):]
	}
	var begin []byte
	if s.h3 != nil {
		begin = s.h3.Begin()
	} else {
		s.checkTable()
		begin = s.h2.Begin()
	}
	buf = s.encoder.AppendMessage(begin, m, len(m.Body))
	return buf, buf[len(begin):]
}

// OpenRequest passes a request to the client, whose header is at the end of buf.
func (s *session) OpenRequest(buf []byte, tok uint32, body []byte, want protocol.Want) (stream uint32) {
	switch {
	case s.h1 != nil:
		return s.h1.Open(buf, tok, body, want)
	case s.h3 != nil:
		return s.h3.Open(buf, tok, body, want)
	}
	return s.h2.Open(buf, tok, body, want)
}

// Continue sends more of the body of a request that was opened with protocol.Unfinished, and ends it if end is true.
func (cs *Connections) Continue(c *Conn, stream uint32, p []byte, end bool) {
	if c.h2 != nil {
		c.h2.Send(stream, p, end)
		cs.markDirty(c)
	}
}

// checkTable stops indexing when the peer has shrunk its table (RFC 7541 4.2).
func (s *session) checkTable() {
	if s.h2.EncoderTableEpoch() != s.tableEpoch {
		s.table = chain.Static
	}
}

// beginTable sets the encoder up for what the peer allows.
func (s *session) beginTable(bound uint32) {
	if s.h2 != nil {
		s.tableEpoch = s.h2.EncoderTableEpoch()
		s.table = s.encoder.Begin(min(s.h2.EncoderTableSize(), bound))
	}
}
