package h2

import (
	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// fieldSink hands the fields of one response to the handler as they are
// decoded.
type fieldSink struct {
	h     Handler
	tok   uint32
	final bool // OnStatus was called
}

// Field implements hpack.Sink. The status comes first, or the message is
// malformed (RFC 9113 8.3).
func (f *fieldSink) Field(name, value []byte, class hpack.Class) {
	switch {
	case f.final && !class.Pseudo():
		f.h.OnHeader(f.tok, name, value)
	case class == hpack.Status:
		status := int(value[0]-'0')*100 + int(value[1]-'0')*10 + int(value[2]-'0')
		if status >= 200 {
			f.final = true
			f.h.OnStatus(f.tok, status)
		}
	}
}

// onHeaders is RFC 9113 6.2.
func (c *Client) onHeaders(h FrameHeader, p []byte) error {
	if c.idle(h.StreamID) {
		return c.fail(http2.ErrCodeProtocol, "HEADERS on an idle stream")
	}
	if h.Flags&(http2.FlagHeadersPadded|http2.FlagHeadersPriority) != 0 {
		var code http2.ErrCode
		if p, code = headerFragment(h, p); code != 0 {
			return c.fail(code, "HEADERS with bad padding or priority")
		}
	}
	end := h.Flags&http2.FlagHeadersEndStream != 0
	if h.Flags&http2.FlagHeadersEndHeaders == 0 {
		c.block.begin(h.StreamID, end, p)
		return nil
	}
	return c.onBlock(h.StreamID, end, p)
}

// onContinuation is RFC 9113 6.10; that it is in place was checked.
func (c *Client) onContinuation(h FrameHeader, p []byte) error {
	if !c.block.add(p, c.cfg.MaxHeaderListSize) {
		return c.fail(http2.ErrCodeEnhanceYourCalm, "header block too long")
	}
	if !h.Flags.Has(http2.FlagContinuationEndHeaders) {
		return nil
	}
	err := c.onBlock(h.StreamID, c.block.end, c.block.buf)
	c.block.done()
	return err
}

// onBlock takes a complete header block. Blocks of closed streams are decoded
// too, for the table's sake (RFC 9113 5.1).
func (c *Client) onBlock(id uint32, end bool, p []byte) error {
	s := c.streams.find(id)
	var sink hpack.Sink
	if s != nil && s.want&WantHeaders != 0 && s.flags&gotFinal == 0 {
		c.told = fieldSink{h: c.h, tok: s.tok}
		sink = &c.told
	}
	var sum hpack.Summary
	if err := c.dec.DecodeTo(&sum, p, sink); err != nil {
		return c.fail(http2.ErrCodeCompression, err.Error())
	}
	if s != nil {
		c.onMessage(s, &sum, end, sink != nil)
	}
	return nil
}

// onMessage takes the header of a response, interim or final, or its trailers.
// told says that the sink has told the handler of a final status.
func (c *Client) onMessage(s *stream, sum *hpack.Summary, end, told bool) {
	switch {
	case s.flags&answered != 0:
		c.resetStream(s, http2.ErrCodeStreamClosed, "HEADERS after END_STREAM (RFC 9113 5.1)")
	case sum.Malformed:
		c.resetStream(s, http2.ErrCodeProtocol, "a malformed header field (RFC 9113 8.2, 8.3)")
	case sum.Size > uint64(c.cfg.MaxHeaderListSize):
		c.resetStream(s, http2.ErrCodeProtocol, "the header is larger than SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 10.5.1)")
	case s.flags&gotFinal != 0:
		c.onTrailers(s, sum, end)
	case sum.Pseudo != hpack.Status.Bit():
		c.resetStream(s, http2.ErrCodeProtocol, "the header has not exactly the pseudo-header field :status (RFC 9113 8.3.2)")
	case sum.Status == 101:
		c.resetStream(s, http2.ErrCodeProtocol, "status 101 (RFC 9113 8.6)")
	case sum.Status < 200:
		if end {
			c.resetStream(s, http2.ErrCodeProtocol, "END_STREAM on a 1xx response (RFC 9113 8.1)")
		}
	default:
		c.onFinal(s, sum, end, told)
	}
}

// onTrailers: a second header block must end the response and have no
// pseudo-header fields (RFC 9113 8.1).
func (c *Client) onTrailers(s *stream, sum *hpack.Summary, end bool) {
	if !end || sum.Pseudo != 0 {
		c.resetStream(s, http2.ErrCodeProtocol, "trailers without END_STREAM or with a pseudo-header field (RFC 9113 8.1)")
		return
	}
	c.endResponse(s)
}

func (c *Client) onFinal(s *stream, sum *hpack.Summary, end, told bool) {
	s.flags |= gotFinal
	s.left = sum.ContentLength
	if s.want&WantErrorBody != 0 && sum.Status >= 400 {
		s.want |= WantBody
	}
	if s.want&HeadRequest != 0 || sum.Status == 204 || sum.Status == 304 {
		s.left = 0 // never has content (RFC 9110 6.4.1)
	}
	if !told && s.flags&abandoned == 0 {
		c.h.OnStatus(s.tok, sum.Status)
	}
	if end {
		c.endResponse(s)
	}
}

// contentLength is the rule that the content is as long as the header says.
const contentLength = "the content is not as long as content-length says (RFC 9113 8.1.1)"

// endResponse is the END_STREAM of the peer.
func (c *Client) endResponse(s *stream) {
	switch {
	case s.left > 0:
		c.resetStream(s, http2.ErrCodeProtocol, contentLength)
	case s.body == 0 && s.flags&cut == 0:
		c.finish(s, Outcome{Kind: Completed})
	default:
		c.endEarly(s)
	}
}

// endEarly: the response is complete, the request is not and need not be. A
// server that does not want the rest says so by RST_STREAM(NO_ERROR) (RFC 9113
// 8.1), for which the stream waits; the request continues meanwhile. If none
// comes, ResetAbandoned resets the stream.
func (c *Client) endEarly(s *stream) {
	tok, silent := s.tok, s.flags&abandoned != 0
	c.abandon(s, answered)
	if !silent {
		c.checkBudget()
		c.h.OnDone(tok, Outcome{Kind: Completed})
	}
}

// onData takes a piece of a DATA frame (RFC 9113 6.1). The first piece accounts
// for the whole frame, its padding included (6.9.1).
func (c *Client) onData(h FrameHeader, p []byte) error {
	if c.in.data.first {
		if err := c.beginData(h); err != nil {
			return err
		}
	}
	s := c.streams.find(h.StreamID)
	if s == nil {
		return nil
	}
	if len(p) > 0 && s.want&WantBody != 0 {
		c.h.OnData(s.tok, p)
	}
	if !c.in.data.open && h.Flags.Has(http2.FlagDataEndStream) {
		c.endResponse(s)
	}
	return nil
}

// beginData accounts for a DATA frame. Windows are refilled here, as nothing is
// ever kept: the octets are as good as read.
func (c *Client) beginData(h FrameHeader) error {
	if c.idle(h.StreamID) {
		return c.fail(http2.ErrCodeProtocol, "DATA on an idle stream")
	}
	if int64(h.Length) > int64(c.recvWindow) {
		return c.fail(http2.ErrCodeFlowControl, "DATA beyond the connection's window")
	}
	c.recvWindow -= int32(h.Length)
	if by := refill(&c.recvWindow, int32(c.cfg.ConnWindow)); by > 0 {
		c.out.buf = AppendWindowUpdate(c.out.buf, 0, by)
	}
	if s := c.streams.find(h.StreamID); s != nil {
		c.beginStreamData(s, h)
	}
	return nil
}

func (c *Client) beginStreamData(s *stream, h FrameHeader) {
	content := int64(c.in.data.size)
	switch {
	case s.flags&answered != 0:
		c.resetStream(s, http2.ErrCodeStreamClosed, "DATA after END_STREAM (RFC 9113 5.1)")
		return
	case int64(h.Length) > int64(s.recvWindow):
		c.resetStream(s, http2.ErrCodeFlowControl, "DATA beyond the stream's window (RFC 9113 6.9.1)")
		return
	case s.flags&gotFinal == 0:
		c.resetStream(s, http2.ErrCodeProtocol, "DATA before the header (RFC 9113 8.1)")
		return
	case s.left >= 0 && content > s.left:
		c.resetStream(s, http2.ErrCodeProtocol, contentLength)
		return
	}
	if s.left >= 0 {
		s.left -= content
	}
	s.recvWindow -= int32(h.Length)
	if h.Flags.Has(http2.FlagDataEndStream) {
		return
	}
	if by := refill(&s.recvWindow, int32(c.cfg.StreamWindow)); by > 0 {
		c.out.buf = AppendWindowUpdate(c.out.buf, s.id, by)
	}
}
