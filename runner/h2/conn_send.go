package h2

import (
	"slices"

	"golang.org/x/net/http2"
)

// maxDataFrame bounds the DATA frames sent, in octets, even if the peer accepts
// larger ones. Larger frames save nothing and delay other streams.
const maxDataFrame = 64 << 10

// Begin returns the out buffer with space for a frame header at its end, and
// after it the table size update that the peer must get, if any. The caller
// appends the header block and passes the result to Open or Respond, and calls
// no other method in between. A Begin without them has no effect.
func (c *conn) Begin() []byte {
	var header [FrameHeaderLen]byte
	return c.peer.table.appendUpdates(append(c.out.Buf, header[:]...))
}

// sendHeaders completes the HEADERS frame that Begin left space for.
func (c *conn) sendHeaders(buf []byte, id uint32, end bool) {
	at := len(c.out.Buf)
	c.peer.table.sent()
	block := buf[at+FrameHeaderLen:]
	if len(block) > int(c.peer.maxFrame) { // rare
		c.out.Buf = AppendHeaderBlock(buf[:at], id, end, slices.Clone(block), c.peer.maxFrame)
		return
	}
	putFrameHeader(buf[at:], FrameHeader{uint32(len(block)), http2.FrameHeaders,
		http2.FlagHeadersEndHeaders | endStream(end), id})
	c.out.Buf = buf
}

// sendBody sends a body as far as the windows and the out buffer allow. The rest
// waits: as a reference if the body is stable, otherwise as a copy. It returns
// true if nothing is left.
func (c *conn) sendBody(s *stream, body []byte, stable bool) (sent bool) {
	for len(body) > 0 {
		n := c.sendData(s, body)
		if n == 0 {
			s.body = c.bodies.put(s.id, body, stable)
			c.enqueue(s)
			return false
		}
		body = body[n:]
	}
	return true
}

// sendData sends one DATA frame with the beginning of p, the rest of a stream's
// body. It returns the number of octets: what both windows (RFC 9113 6.9), the
// peer's frame size and the out buffer allow.
func (c *conn) sendData(s *stream, p []byte) (n int) {
	spare := c.out.spare()
	if spare <= 0 {
		return 0
	}
	n = min(len(p), int(c.sendWindow), int(s.sendWindow), int(c.peer.maxFrame), max(spare, minMaxFrameSize), maxDataFrame)
	if n <= 0 {
		return 0
	}
	c.sendWindow -= int32(n)
	s.sendWindow -= int32(n)
	c.out.Buf = AppendData(c.out.Buf, s.id, n == len(p) && !s.is(trailing|unfinished), p[:n])
	return n
}

// pump sends a DATA frame of each queued body in turn, until the connection's
// window or the out buffer is full.
func (c *conn) pump() {
	for c.bodies.head != 0 && c.sendWindow > 0 && c.out.spare() > 0 && c.err == nil {
		b := c.bodies.pop()
		if b.id == 0 {
			continue // the stream was closed
		}
		s := c.streams.find(b.id)
		b.data = b.data[c.sendData(s, b.data):]
		if len(b.data) > 0 {
			c.enqueue(s)
			continue
		}
		trailers := b.trailers
		c.forgetBody(s)
		if s.is(trailing) {
			c.sendHeaders(append(c.Begin(), trailers...), s.id, true)
		}
		c.role.onSent(s)
	}
}

// enqueue queues a stream's body if there is one and the stream's window is open.
func (c *conn) enqueue(s *stream) {
	if s.body != 0 && s.sendWindow > 0 {
		c.bodies.push(s.body)
	}
}

// forgetBody drops what was not sent of a stream's body.
func (c *conn) forgetBody(s *stream) {
	c.bodies.free(s.body)
	s.body = 0
}

// moveWindows applies a change of SETTINGS_INITIAL_WINDOW_SIZE to all open
// streams (RFC 9113 6.9.2). It returns false if a window would be too large.
func (c *conn) moveWindows(by int64) bool {
	if by == 0 {
		return true
	}
	for s := range c.streams.all {
		if !widen(&s.sendWindow, by) {
			return false
		}
		c.enqueue(s)
	}
	return true
}
