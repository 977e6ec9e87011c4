package h3

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// onData takes octets of a response.
func (c *Client) onData(s *stream, p []byte, fin bool) {
	for len(p) > 0 {
		if !s.frame.inside {
			var ok bool
			if p, ok = s.frame.begin(p); !ok {
				break
			}
			if c.onFrame(s); c.err != nil || !s.isOpen() {
				return
			}
		}
		var payload []byte
		payload, p = s.frame.take(p)
		c.onPayload(s, payload)
		if c.err != nil || !s.isOpen() {
			return
		}
	}
	if fin {
		c.onEnd(s)
	}
}

// onFrame handles the begin of a frame: whether it may come now (RFC 9114 4.1, 7.2).
func (c *Client) onFrame(s *stream) {
	switch kind := s.frame.kind; {
	case kind == frameData && s.state == awaitsContent:
		c.onContent(s)
	case kind == frameHeaders && s.state != gotTrailers:
		if s.frame.left > uint64(c.cfg.MaxHeaderListSize) {
			c.streamError(s, protocol.H3ExcessiveLoad, largeHeader)
		}
	case kind == frameData, kind == frameHeaders:
		c.fail(protocol.H3FrameUnexpected, "DATA before HEADERS, or a frame after trailers (RFC 9114 4.1)")
	case kind == framePushPromise:
		c.fail(protocol.H3IDError, "PUSH_PROMISE without MAX_PUSH_ID (RFC 9114 7.2.5)")
	case kind == frameCancelPush, kind == frameSettings, kind == frameGoAway, kind == frameMaxPushID, isHTTP2(kind):
		c.fail(protocol.H3FrameUnexpected, "a frame that a response cannot have (RFC 9114 7.2)")
	}
}

// onPayload handles a part of the payload of a frame. Frames of unknown types are ignored (RFC 9114 9).
func (c *Client) onPayload(s *stream, p []byte) {
	switch s.frame.kind {
	case frameData:
		if len(p) > 0 && s.want&protocol.WantBody != 0 {
			c.h.OnData(s.tok, p)
		}
	case frameHeaders:
		switch complete := !s.frame.inside; {
		case !complete:
			s.block = append(s.block, p...)
		case len(s.block) > 0:
			s.block = append(s.block, p...)
			c.onBlock(s, s.block)
			s.block = s.block[:0]
		default:
			c.onBlock(s, p)
		}
	}
}

// onContent counts the content of a DATA frame that begins.
func (c *Client) onContent(s *stream) {
	switch {
	case s.left == lengthUnknown:
	case s.frame.left > uint64(s.left):
		c.streamError(s, protocol.H3MessageError, contentLength)
	default:
		s.left -= int64(s.frame.left)
	}
}

const largeHeader = "the header is larger than SETTINGS_MAX_FIELD_SECTION_SIZE (RFC 9114 4.2.2)"

const contentLength = "the length of the content is not content-length (RFC 9114 4.1.2)"

// onBlock handles a complete header block.
func (c *Client) onBlock(s *stream, p []byte) {
	var sink hpack.Sink
	trailers := s.state == awaitsContent
	if s.want&protocol.WantHeaders != 0 {
		c.fields = protocol.Fields{Handler: c.h, Tok: s.tok, Trailers: trailers}
		sink = &c.fields
	}
	var sum hpack.Summary
	if err := c.dec.Decode(&sum, p, sink); err != nil {
		c.fail(protocol.QPACKDecompression, err.Error())
		return
	}
	if rule := c.judge(s, &sum); rule != "" {
		c.streamError(s, protocol.H3MessageError, rule)
		return
	}
	switch {
	case trailers:
		s.state = gotTrailers
	case sum.Status >= 200:
		c.onFinal(s, &sum, sink != nil)
	}
}

// judge returns the rule that a header block breaks.
func (c *Client) judge(s *stream, sum *hpack.Summary) (rule string) {
	switch {
	case sum.Malformed:
		return "a malformed header field (RFC 9114 4.2, 4.3)"
	case sum.Size > uint64(c.cfg.MaxHeaderListSize):
		return largeHeader
	case s.state == awaitsContent && sum.Pseudo != 0:
		return "trailers with a pseudo-header field (RFC 9114 4.3)"
	case s.state == awaitsContent:
		return ""
	case sum.Pseudo != hpack.Status.Bit():
		return "the header has not exactly the pseudo-header field :status (RFC 9114 4.3.2)"
	case sum.Status == 101:
		return "status 101 (RFC 9114 4.5)"
	}
	return ""
}

// onFinal handles the header of a final response. Reported: the sink has reported the status.
func (c *Client) onFinal(s *stream, sum *hpack.Summary, reported bool) {
	s.state = awaitsContent
	s.left = sum.ContentLength
	if s.want&protocol.WantErrorBody != 0 && sum.Status >= 400 {
		s.want |= protocol.WantBody
	}
	if s.want&protocol.HeadRequest != 0 || sum.Status == 204 || sum.Status == 304 {
		s.left = 0 // never has content (RFC 9110 6.4.1)
	}
	if !reported {
		c.h.OnStatus(s.tok, sum.Status)
	}
}

// onEnd handles the end of the peer's side of a stream.
func (c *Client) onEnd(s *stream) {
	code, rule := http2.ErrCode(0), ""
	switch {
	case s.frame.isCut():
		c.fail(protocol.H3FrameError, "a stream ends inside a frame (RFC 9114 7.1)")
		return
	case s.state == awaitsHeader:
		code, rule = protocol.H3MessageError, "the stream ends before the header of a final response (RFC 9114 4.1)"
	case s.left > 0:
		code, rule = protocol.H3MessageError, contentLength
	default:
		c.finish(s, protocol.Outcome{Kind: protocol.Completed})
		return
	}
	c.streamError(s, code, rule)
}
