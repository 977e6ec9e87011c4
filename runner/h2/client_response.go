package h2

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/protocol"
)

// onHeader handles the header of a response, interim or final, or its trailers.
// reported says that the sink has reported a final status to the handler.
func (c *Client) onHeader(s *stream, sum *hpack.Summary, end, reported bool) {
	code, rule := http2.ErrCodeProtocol, ""
	switch {
	case s.is(remoteClosed):
		code, rule = http2.ErrCodeStreamClosed, "HEADERS after END_STREAM (RFC 9113 5.1)"
	case sum.Malformed:
		rule = "a malformed header field (RFC 9113 8.2, 8.3)"
	case sum.Size > uint64(c.cfg.MaxHeaderListSize):
		rule = "the header is larger than SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 10.5.1)"
	case s.is(gotHeader):
		if end && sum.Pseudo == 0 {
			c.endResponse(s)
			return
		}
		rule = "trailers without END_STREAM or with a pseudo-header field (RFC 9113 8.1)"
	case sum.Pseudo != hpack.Status.Bit():
		rule = "the header has not exactly the pseudo-header field :status (RFC 9113 8.3.2)"
	case sum.Status == 101:
		rule = "status 101 (RFC 9113 8.6)"
	case sum.Status >= 200:
		c.onFinal(s, sum, end, reported)
		return
	case end:
		rule = "END_STREAM on a 1xx response (RFC 9113 8.1)"
	default:
		return
	}
	c.streamError(s, code, rule)
}

func (c *Client) onFinal(s *stream, sum *hpack.Summary, end, reported bool) {
	s.flags |= gotHeader
	s.left = sum.ContentLength
	if s.want&protocol.WantErrorBody != 0 && sum.Status >= 400 {
		s.want |= protocol.WantBody
	}
	if s.want&protocol.HeadRequest != 0 || sum.Status == 204 || sum.Status == 304 {
		s.left = 0 // never has content (RFC 9110 6.4.1)
	}
	if !reported && !s.is(abandoned) {
		c.h.OnStatus(s.tok, sum.Status)
	}
	if end {
		c.endResponse(s)
	}
}

// endResponse handles the peer's END_STREAM. It ends a request that is not finished: the peer needs no more of it.
func (c *Client) endResponse(s *stream) {
	if s.is(unfinished) && !s.is(cut) {
		s.flags &^= unfinished
		if s.body == 0 {
			c.endBody(s)
		}
	}
	switch {
	case s.left > 0:
		c.streamError(s, http2.ErrCodeProtocol, contentLength)
	case s.body == 0 && !s.is(cut):
		c.finish(s, protocol.Outcome{Kind: protocol.Completed})
	default:
		c.endEarly(s)
	}
}

// endEarly handles the end of a response whose request is not complete, and need
// not be. If the server does not want the rest, it sends RST_STREAM(NO_ERROR) (RFC
// 9113 8.1). The stream waits for that, and continues to send the request. If
// RST_STREAM does not come, ResetAbandoned resets the stream.
func (c *Client) endEarly(s *stream) {
	tok, report := s.tok, !s.is(abandoned)
	s.flags |= remoteClosed
	c.answered = max(c.answered, s.id)
	c.abandon(s)
	if report {
		c.h.OnDone(tok, protocol.Outcome{Kind: protocol.Completed})
	}
}
