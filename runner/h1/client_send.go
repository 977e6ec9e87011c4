package h1

import "github.com/h2surge/h2surge/runner/protocol"

// Begin returns the out buffer. The caller appends the head of a request and passes
// the result to Open, and calls no other method in between. A Begin without Open
// has no effect.
func (c *Client) Begin() []byte {
	return c.out.appendable()
}

// Open sends the request whose head, with the empty line at its end, was appended
// to what Begin returned, and its body, which is copied unless it is large and
// stable. It sends nothing and returns 0 if Free is 0.
func (c *Client) Open(buf []byte, tok uint32, body []byte, want protocol.Want) (id uint32) {
	if c.Free() == 0 {
		return 0
	}
	if c.lastID++; c.lastID == 0 {
		c.lastID = 1
	}
	r := request{start: c.out.end(), id: c.lastID, tok: tok, want: want}
	if isIdempotent(buf[len(c.out.Buf):]) {
		r.state = idempotent
	}
	c.queue.push(r)
	if want&protocol.StableBody != 0 && len(body) > largestCopy {
		c.out.Buf, c.out.tail = buf, body
	} else {
		c.out.Buf = append(buf, body...)
	}
	c.draining = c.cfg.NoKeepAlive
	return r.id
}

// ceaseSending discards the requests after the first of which no octet was sent,
// because the peer announced that it will not answer them (RFC 9112 9.6).
func (c *Client) ceaseSending() {
	for i := 1; i < c.queue.count; i++ {
		if start := c.queue.at(i).start; start >= c.out.total {
			c.out.truncate(start)
			return
		}
	}
}
