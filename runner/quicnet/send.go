package quicnet

import (
	"bytes"
	"errors"
	"time"

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
		// With a limiter, Write returns after the last octet is sent, so that endEarly sees the stream open until then.
		// Without one, Write may leave a packet behind that flow control does not permit yet.
		_, err := s.WriteWithLimit(p, func(permitted int) int { return permitted })
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

// answeredGrace is how long a server has to take a request that it has answered, or to send STOP_SENDING.
const answeredGrace = 5 * time.Millisecond

// endEarly ends a request whose response is complete and that waits for flow control (RFC 9114 4.1). If the server
// neither takes the rest in time nor sends STOP_SENDING, endEarly resets the stream. Otherwise the connection would
// lose the stream for good, and what waits would keep other requests from being sent.
func endEarly(s *quic.Stream) {
	grace := time.NewTimer(answeredGrace)
	defer grace.Stop()
	select {
	case <-s.Context().Done(): // the request is sent, or the stream has ended
	case <-grace.C:
		s.CancelWrite(quic.StreamErrorCode(protocol.H3RequestCancelled))
	}
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
