package h2

import "golang.org/x/net/http2"

// Begin returns the out buffer with room for a HEADERS frame header at its end,
// and behind it the table size update that is owed, if any. The caller appends
// the header block and passes it all to Open; nothing else of the session may be
// called in between. A Begin without Open leaves no trace.
func (c *Client) Begin() []byte {
	c.out.compact()
	var room [FrameHeaderLen]byte
	return c.peer.table.appendUpdates(append(c.out.buf, room[:]...))
}

// Open sends the request whose header block was appended to what Begin
// returned, and its body as far as windows and the out buffer allow; the rest
// is copied, unless it is stable, and sent as they do. id is 0, and nothing
// sent, when Free is 0.
func (c *Client) Open(buf []byte, tok uint32, body []byte, want Want) (id uint32) {
	if c.Free() == 0 {
		return 0
	}
	s := c.streams.add(c.nextID)
	id = s.id
	s.tok, s.want, s.flags, s.body, s.left = tok, want, 0, 0, -1
	s.sendWindow, s.recvWindow = int32(c.peer.initialWindow), int32(c.cfg.StreamWindow)
	c.nextID = id + 2
	if c.nextID > maxStreamID-idReserve {
		c.draining = true
		c.setLimit()
	}
	c.endHeaders(buf, id, len(body) == 0)
	if len(body) > 0 {
		if n := c.sendData(s, body); n < len(body) {
			s.body = c.bodies.put(id, body[n:], want&StableBody != 0)
		}
	}
	return id
}

// endHeaders completes the HEADERS frame that Begin left room for.
func (c *Client) endHeaders(buf []byte, id uint32, end bool) {
	at := len(c.out.buf)
	c.peer.table.sent()
	block := buf[at+FrameHeaderLen:]
	if len(block) > int(c.peer.maxFrame) {
		rest := append([]byte(nil), block...) // so large a block is rare
		c.out.buf = AppendHeaderBlock(buf[:at], id, end, rest, c.peer.maxFrame)
		return
	}
	h := FrameHeader{uint32(len(block)), http2.FrameHeaders, http2.FlagHeadersEndHeaders | endStream(end), id}
	putFrameHeader(buf[at:], h)
	c.out.buf = buf
}

// sendData sends as much of p as nextData allows, with
// END_STREAM if that is all; p is the rest of the stream's body.
func (c *Client) sendData(s *stream, p []byte) (n int) {
	for n < len(p) {
		k := c.nextData(s, len(p)-n)
		if k == 0 {
			break
		}
		c.out.buf = AppendData(c.out.buf, s.id, n+k == len(p), p[n:n+k])
		n += k
	}
	return n
}

// nextData is the size of the next DATA frame when left octets are to be sent:
// what both windows allow (RFC 9113 6.9) and the out buffer has room for. It is
// taken off the windows.
func (c *Client) nextData(s *stream, left int) int {
	room := c.out.room()
	if room <= 0 {
		c.behind = true
		return 0
	}
	k := min(left, int(c.sendWindow), int(s.sendWindow), int(c.peer.maxFrame), max(room, minMaxFrameSize))
	if k <= 0 {
		return 0
	}
	c.sendWindow -= int32(k)
	s.sendWindow -= int32(k)
	return k
}

// sendFrame sends one DATA frame of a stream's unsent body; false when it
// cannot.
func (c *Client) sendFrame(s *stream) bool {
	b := &c.bodies.items[s.body-1]
	k := c.nextData(s, len(b.data)-b.off)
	if k == 0 {
		return false
	}
	p := b.data[b.off : b.off+k]
	b.off += k
	end := b.off == len(b.data)
	c.out.buf = AppendData(c.out.buf, s.id, end, p)
	if end {
		c.bodySent(s)
	}
	return true
}

// bodySent ends the sending side of a stream.
func (c *Client) bodySent(s *stream) {
	c.forgetBody(s)
	if s.flags&answered != 0 {
		c.drop(s)
	}
}

// forgetBody frees what was not sent of a stream's body.
func (c *Client) forgetBody(s *stream) {
	c.bodies.free(s.body)
	s.body = 0
}

// sendAll shares the connection's window among the unsent bodies, a frame each
// in turn, until nothing moves or the out buffer has no room.
func (c *Client) sendAll() {
	for moved := true; moved && c.sendWindow > 0 && c.bodies.count > 0; {
		moved = false
		for range c.bodies.items {
			if c.out.room() <= 0 {
				c.behind = true
				return
			}
			if c.bodies.turn++; c.bodies.turn >= len(c.bodies.items) {
				c.bodies.turn = 0
			}
			b := &c.bodies.items[c.bodies.turn]
			if b.id != 0 && c.sendFrame(c.streams.find(b.id)) {
				moved = true
				if c.bodies.count == 0 {
					return // items may be gone
				}
			}
		}
	}
}

// Ping queues a PING (RFC 9113 6.7), whose answer shows that the peer is there.
func (c *Client) Ping() {
	c.out.buf = AppendPing(c.out.buf, false, [pingLen]byte{})
}
