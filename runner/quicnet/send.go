package quicnet

import (
	"bytes"
	"errors"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h3"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Send sends the records at the begin of b, and returns how many octets it took. It takes no Request while too many
// octets wait for flow control. It always takes the other records, because Cancel can end such a wait.
func (c *Conn) Send(b []byte) (n int, err error) {
	for n < len(b) {
		r, length := h3.NextRecord(b[n:])
		if length == 0 {
			return n, errors.New("the session has sent a part of a record")
		}
		if _, writable := c.Ready(); r.Kind == h3.Request && !writable {
			break
		}
		n += length
		c.send(&r)
	}
	return n, nil
}

func (c *Conn) send(r *h3.Record) {
	switch r.Kind {
	case h3.Request:
		if s := c.stream(r); s != nil {
			c.request(s, r.Data)
		}
	case h3.Cancel:
		if s := c.stream(r); s != nil {
			s.CancelRead(quic.StreamErrorCode(r.Code))
			s.CancelWrite(quic.StreamErrorCode(r.Code))
		}
	case h3.Control:
		c.mu.Lock()
		if c.early {
			c.greeting = bytes.Clone(r.Data)
		}
		c.sendControl(r.Data)
		c.mu.Unlock()
	case h3.Close:
		c.mu.Lock()
		c.fail(http2.ErrCode(r.Code), string(r.Data))
		c.mu.Unlock()
	}
}

// stream returns the stream of a record; nil: the lane has another one, or the request waits for the handshake or for a
// stream.
func (c *Conn) stream(r *h3.Record) *quic.Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.lanes[r.Slot]
	if l.number != r.Stream || (c.early || l.stream == nil) && !l.keep(r) {
		return nil
	}
	return l.stream
}

// request sends a whole request. If flow control does not permit all of it now, a goroutine waits. Errors end the
// connection or the stream, and the lane sees them.
func (c *Conn) request(s *quic.Stream, p []byte) {
	if err := s.TryWriteAll(p); !errors.Is(err, quic.ErrWouldBlock) {
		_ = s.Close()
		return
	}
	p = bytes.Clone(p)
	c.mu.Lock()
	c.writing += len(p)
	c.mu.Unlock()
	go func() {
		_, err := s.Write(p)
		if err == nil {
			_ = s.Close()
		}
		c.mu.Lock()
		c.writing -= len(p)
		notify := c.notify
		c.mu.Unlock()
		notify()
	}()
}

// sendControl sends octets on the control stream, which it opens first. A peer without a stream for it breaks the
// protocol (RFC 9114 6.2), unless that is a limit of the session before. The caller has mu.
func (c *Conn) sendControl(p []byte) {
	if c.control == nil {
		s, err := c.q.OpenUniStream()
		switch {
		case err != nil && c.early:
			return
		case err != nil:
			c.fail(protocol.H3StreamCreationError, "no stream for SETTINGS is permitted (RFC 9114 6.2)")
			return
		}
		c.control = s
	}
	_ = c.control.TryWriteAll(p)
}
