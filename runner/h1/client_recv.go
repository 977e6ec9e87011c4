package h1

import (
	"bytes"

	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/protocol"
)

// Receive takes all of p, the octets that came from the peer. It keeps a cut head
// for the next call. After an error, the owner must close the connection, because
// the beginning of the next response is not known. Receive may change p: it changes
// names to lower case and joins folded lines.
func (c *Client) Receive(p []byte, _ int64) error {
	for len(p) > 0 {
		switch {
		case c.err != nil:
			return c.err
		case c.broken:
			return nil
		}
		n, err := c.next(p)
		if err != nil {
			return c.fail(err)
		}
		p = p[n:]
	}
	return c.err
}

// next handles the next element of p and returns its length, which is at least 1.
func (c *Client) next(p []byte) (n int, err *Error) {
	switch c.in.phase {
	case atHead:
		return c.onHead(p)
	case inLength:
		if n = c.content(p); c.in.left == 0 {
			c.endResponse()
		}
		return n, nil
	case inClose:
		c.data(p)
		return len(p), nil
	case inChunk:
		if n = c.content(p); c.in.left == 0 {
			c.in.phase = atChunkCR
		}
		return n, nil
	case atTrailer:
		return c.onTrailer(p)
	}
	return c.in.chunk(p)
}

// content handles content whose length is known.
func (c *Client) content(p []byte) (n int) {
	n = int(min(int64(len(p)), c.in.left))
	c.in.left -= int64(n)
	c.data(p[:n])
	return n
}

func (c *Client) data(p []byte) {
	if r := c.queue.at(0); r.want&protocol.WantBody != 0 {
		c.h.OnData(r.tok, p)
	}
}

// onHead handles a head, interim or final, or a part of one.
func (c *Client) onHead(p []byte) (n int, err *Error) {
	if c.queue.count == 0 || c.queue.at(0).start >= c.out.total {
		if noStatusLine(p) == errHTTP2 {
			return 0, errEarlyHTTP2
		}
		return 0, errUnsolicited
	}
	section, n, err := c.in.section(p, c.cfg.MaxHeaderBytes, false)
	if err != nil || section == nil {
		return n, err
	}
	if c.in.head.status < 200 {
		err = c.onInterim()
	} else {
		c.onFinal(section)
	}
	if len(c.in.carry) > 0 {
		c.in.release()
	}
	return n, err
}

// onInterim: a 1xx response ends with its head (RFC 9112 6.3) and is swallowed
// (RFC 9110 15.2).
func (c *Client) onInterim() *Error {
	if c.in.head.status == 101 {
		return errSwitch
	}
	if c.in.interim++; c.in.interim > maxInterim {
		return errInterim
	}
	return nil
}

func (c *Client) onFinal(section []byte) {
	h, r := &c.in.head, c.queue.at(0)
	c.frame(h, r.want)
	if r.want&protocol.WantErrorBody != 0 && h.status >= 400 {
		r.want |= protocol.WantBody
	}
	if c.closing {
		c.draining = true
		c.ceaseSending()
	}
	c.h.OnStatus(r.tok, h.status)
	if r.want&protocol.WantHeaders != 0 {
		c.reportFields(r.tok, section[bytes.IndexByte(section, '\n')+1:], false)
	}
	if c.in.phase == inLength && c.in.left == 0 {
		c.endResponse()
	}
}

// frame determines how the content ends (RFC 9112 6.3), and whether the connection
// ends with it (9.3).
func (c *Client) frame(h *head, want protocol.Want) {
	in := &c.in
	c.closing, c.closed = !h.persists(), h.close
	switch {
	case want&protocol.HeadRequest != 0 || h.status == 204 || h.status == 304:
		in.phase, in.left = inLength, 0
	case h.chunked:
		in.phase, in.digits, in.left = atChunk, 0, 0
	case h.length >= 0:
		in.phase, in.left = inLength, h.length
	default:
		in.phase, c.closing = inClose, true
	}
}

// reportFields passes well-formed field lines to the handler.
func (c *Client) reportFields(tok uint32, p []byte, trailer bool) {
	for p[0] != '\r' && p[0] != '\n' {
		colon, lf := bytes.IndexByte(p, ':'), bytes.IndexByte(p, '\n')
		name, value := p[:colon], p[colon+1:lf]
		p = p[lf+1:]
		octet.ToLower(name)
		value = octet.TrimBlanks(bytes.TrimSuffix(value, crlf[:1]))
		if trailer {
			c.h.OnTrailer(tok, name, value)
		} else {
			c.h.OnHeader(tok, name, value)
		}
	}
}

var crlf = []byte("\r\n")

// onTrailer handles the trailer section (RFC 9112 7.1.2), or a part of it.
func (c *Client) onTrailer(p []byte) (n int, err *Error) {
	section, n, err := c.in.section(p, c.cfg.MaxHeaderBytes, true)
	if err != nil || section == nil {
		return n, err
	}
	if r := c.queue.at(0); r.want&protocol.WantHeaders != 0 {
		c.reportFields(r.tok, section, true)
	}
	if len(c.in.carry) > 0 {
		c.in.release()
	}
	c.endResponse()
	return n, nil
}

// endResponse: the first request's response is complete.
func (c *Client) endResponse() {
	c.in.phase, c.in.interim = atHead, 0
	c.reused = true
	if !c.closing {
		c.finish(protocol.Outcome{Kind: protocol.Completed})
		return
	}
	c.out.truncate(c.out.total)
	c.finish(protocol.Outcome{Kind: protocol.Completed})
	for c.queue.count > 0 {
		c.finishUnanswered()
	}
}

// fail ends the session with an error. The request of the response is Reset. Close
// ends the others.
func (c *Client) fail(err *Error) error {
	c.err = err
	c.breakOff()
	switch {
	case err != errUnsolicited && err != errEarlyHTTP2:
		c.finish(protocol.Outcome{Kind: protocol.Reset, Rule: err.Rule()})
	case c.queue.count > 0: // none of them was sent
		for c.queue.count > 0 {
			c.finishUnanswered()
		}
	}
	return err
}

// begun reports that an octet of the response to the first request has arrived.
func (r *reader) begun() bool {
	return r.phase != atHead || len(r.carry) > 0 || r.interim > 0
}

// Ended ends the session after the peer closed its side cleanly. It completes
// content that the end of the connection delimits (RFC 9112 8). All other requests
// in flight are Lost or Unprocessed. An error reports that one is Lost. The owner
// then calls Close.
func (c *Client) Ended() error {
	if c.broken {
		return c.err
	}
	begun, in := c.in.begun(), c.in.phase
	c.err = errOver
	c.breakOff()
	var err error
	switch {
	case in == inClose:
		c.reused = true
		c.finish(protocol.Outcome{Kind: protocol.Completed})
	case begun:
		err = errIncomplete
		c.finish(protocol.Outcome{Kind: protocol.Lost})
	}
	for c.queue.count > 0 {
		if c.finishUnanswered() == protocol.Lost && err == nil {
			err = errUnanswered
		}
	}
	return err
}
