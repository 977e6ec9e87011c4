package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// cut handles octets that the reader did not turn into a frame: either more must
// follow, or the peer broke a rule. h is the frame's header as far as it is known.
func (c *conn) cut(h FrameHeader) {
	switch {
	case !c.ready && h.isHTTP1():
		c.fail(http2.ErrCodeProtocol, AnsweredHTTP1)
	case c.in.oversize:
		c.fail(http2.ErrCodeFrameSize, "frame size out of range")
	case c.in.badPad:
		c.fail(http2.ErrCodeProtocol, "padding longer than its frame")
	}
}

// inPlace reports that a frame may come now. It fails the connection otherwise.
func (c *conn) inPlace(h FrameHeader) bool {
	return c.ready && c.block.id == 0 && h.Type != http2.FrameContinuation || c.checkPlace(h)
}

// notSettings is the reason of an invalid preface (RFC 9113 3.4).
const notSettings = "the first frame is not SETTINGS"

// checkPlace checks that SETTINGS come first (RFC 9113 3.4), and that the frames
// of a header block come together (RFC 9113 6.2, 6.10).
func (c *conn) checkPlace(h FrameHeader) bool {
	switch {
	case !c.block.expects(h):
		c.fail(http2.ErrCodeProtocol, "CONTINUATION expected or out of place")
	case c.ready || h.Type == http2.FrameSettings && !h.Flags.Has(http2.FlagSettingsAck):
		return true
	case c.client && h.Type == http2.FrameGoAway:
		return true // onGoAway fails after it has read why the peer refuses the connection
	case h.isHTTP1():
		c.fail(http2.ErrCodeProtocol, AnsweredHTTP1)
	default:
		c.fail(http2.ErrCodeProtocol, notSettings)
	}
	return false
}

// headerBlock adds a HEADERS or CONTINUATION frame to a header block. It returns
// the block when it is complete. end is the END_STREAM flag.
func (c *conn) headerBlock(h FrameHeader, p []byte) (block []byte, end, complete bool) {
	if h.Type == http2.FrameContinuation {
		return c.continuation(h, p)
	}
	if h.StreamID&1 == 0 || c.client && h.StreamID >= c.nextID {
		c.fail(http2.ErrCodeProtocol, "HEADERS on an idle stream")
		return nil, false, false
	}
	if h.Flags&(http2.FlagHeadersPadded|http2.FlagHeadersPriority) != 0 {
		var code http2.ErrCode
		if p, code = headerFragment(h, p); code != 0 {
			c.fail(code, "HEADERS with bad padding or priority")
			return nil, false, false
		}
	}
	end = h.Flags&http2.FlagHeadersEndStream != 0
	if h.Flags&http2.FlagHeadersEndHeaders == 0 {
		c.block.begin(h.StreamID, end, p)
		return nil, false, false
	}
	return p, end, true
}

// continuation is RFC 9113 6.10. checkPlace has checked the frame's place.
func (c *conn) continuation(h FrameHeader, p []byte) (block []byte, end, complete bool) {
	if !c.block.add(p, c.cfg.MaxHeaderListSize) {
		c.fail(http2.ErrCodeEnhanceYourCalm, "header block too long")
		return nil, false, false
	}
	if !h.Flags.Has(http2.FlagContinuationEndHeaders) {
		return nil, false, false
	}
	return c.block.take(), c.block.end, true
}

// contentLength is the rule of RFC 9113 8.1.1 for a message that has a content-length.
const contentLength = "the content is not as long as content-length says (RFC 9113 8.1.1)"

// data handles a piece of a DATA frame (RFC 9113 6.1) and returns its stream. It
// returns nil if the octets are of no open stream. The first piece accounts for the whole
// frame, with its padding (RFC 9113 6.9.1).
func (c *conn) data(h FrameHeader) *stream {
	if !c.in.data.first {
		return c.streams.find(h.StreamID) // not found after a stream error
	}
	switch {
	case c.idle(h.StreamID):
		c.fail(http2.ErrCodeProtocol, "DATA on an idle stream")
		return nil
	case int64(h.Length) > int64(c.recvWindow):
		c.fail(http2.ErrCodeFlowControl, "DATA beyond the connection's window")
		return nil
	}
	c.recvWindow -= int32(h.Length)
	if by := refill(&c.recvWindow, int32(c.cfg.ConnWindow)); by > 0 {
		c.out.Buf = AppendWindowUpdate(c.out.Buf, 0, by)
	}
	s := c.streams.find(h.StreamID)
	if s == nil {
		c.role.onLateData(h.StreamID)
		return nil
	}
	return c.streamData(s, h)
}

// streamData accounts for a DATA frame on an open stream. It refills the window
// at once, because the session keeps no data.
func (c *conn) streamData(s *stream, h FrameHeader) *stream {
	content := int64(c.in.data.size)
	code, rule := http2.ErrCodeProtocol, ""
	switch {
	case s.is(remoteClosed):
		code, rule = http2.ErrCodeStreamClosed, "DATA after END_STREAM (RFC 9113 5.1)"
	case int64(h.Length) > int64(s.recvWindow):
		code, rule = http2.ErrCodeFlowControl, "DATA beyond the stream's window (RFC 9113 6.9.1)"
	case !s.is(gotHeader):
		rule = "DATA before the header (RFC 9113 8.1)"
	case s.left >= 0 && content > s.left:
		rule = contentLength
	}
	if rule != "" {
		c.role.streamError(s, code, rule)
		return nil
	}
	if s.left >= 0 {
		s.left -= content
	}
	s.recvWindow -= int32(h.Length)
	if h.Flags&http2.FlagDataEndStream == 0 {
		if by := refill(&s.recvWindow, int32(c.cfg.StreamWindow)); by > 0 {
			c.out.Buf = AppendWindowUpdate(c.out.Buf, s.id, by)
		}
	}
	return s
}

// endsStream reports that the current piece of a DATA frame ends its stream.
func (c *conn) endsStream(h FrameHeader) bool {
	return !c.in.data.open && h.Flags&http2.FlagDataEndStream != 0
}

// onControl handles all frames but HEADERS, CONTINUATION and DATA.
func (c *conn) onControl(h FrameHeader, p []byte) {
	switch h.Type {
	case http2.FrameWindowUpdate:
		c.onWindowUpdate(h, p)
	case http2.FrameRSTStream:
		c.onRSTStream(h, p)
	case http2.FrameSettings:
		c.onSettings(h, p)
	case http2.FramePing:
		c.onPing(h, p)
	case http2.FrameGoAway:
		c.onGoAway(h, p)
	case http2.FramePushPromise: // a client does not push, and a server must not (RFC 9113 6.6, 8.4)
		c.fail(http2.ErrCodeProtocol, "PUSH_PROMISE")
	case http2.FramePriority:
		c.onPriority(h)
	} // RFC 9113 4.1: unknown types are ignored
}

// onWindowUpdate is RFC 9113 6.9.
func (c *conn) onWindowUpdate(h FrameHeader, p []byte) {
	if len(p) != windowUpdateLen {
		c.fail(http2.ErrCodeFrameSize, "WINDOW_UPDATE is not 4 octets")
		return
	}
	by := binary.BigEndian.Uint32(p) & idMask
	switch {
	case h.StreamID != 0:
		c.onStreamWindow(h.StreamID, by)
	case by == 0:
		c.fail(http2.ErrCodeProtocol, "WINDOW_UPDATE by 0")
	case !widen(&c.sendWindow, int64(by)):
		c.fail(http2.ErrCodeFlowControl, "the connection's window is above 2^31-1")
	default:
		c.pump()
	}
}

func (c *conn) onStreamWindow(id, by uint32) {
	if c.idle(id) {
		c.fail(http2.ErrCodeProtocol, "WINDOW_UPDATE on an idle stream")
		return
	}
	s := c.streams.find(id)
	switch {
	case s == nil: // late; RFC 9113 6.9 allows it on closed streams
	case by == 0:
		c.role.streamError(s, http2.ErrCodeProtocol, "WINDOW_UPDATE by 0 (RFC 9113 6.9)")
	case !widen(&s.sendWindow, int64(by)):
		c.role.streamError(s, http2.ErrCodeFlowControl, "the stream's window is above 2^31-1 (RFC 9113 6.9.1)")
	default:
		c.enqueue(s)
		c.pump()
	}
}

// onRSTStream is RFC 9113 6.4.
func (c *conn) onRSTStream(h FrameHeader, p []byte) {
	switch {
	case len(p) != rstStreamLen:
		c.fail(http2.ErrCodeFrameSize, "RST_STREAM is not 4 octets")
	case c.idle(h.StreamID):
		c.fail(http2.ErrCodeProtocol, "RST_STREAM on an idle stream")
	default:
		c.role.onReset(c.streams.find(h.StreamID), http2.ErrCode(binary.BigEndian.Uint32(p)))
	}
}

// onSettings is RFC 9113 6.5. After the peer has acknowledged ours, its encoder
// must keep to our table size.
func (c *conn) onSettings(h FrameHeader, p []byte) {
	ack := h.Flags.Has(http2.FlagSettingsAck)
	switch {
	case h.StreamID != 0:
		c.fail(http2.ErrCodeProtocol, "SETTINGS on a stream")
		return
	case ack && len(p) != 0, len(p)%settingLen != 0:
		c.fail(http2.ErrCodeFrameSize, "SETTINGS of a wrong length")
		return
	case ack:
		c.dec.Limit(c.cfg.HeaderTableSize)
		return
	case !c.settings.take(c.now) || !c.out.acknowledge():
		c.fail(http2.ErrCodeEnhanceYourCalm, "too many SETTINGS and PING")
		return
	}
	before := c.peer.initialWindow
	if err := c.peer.apply(p, c.client); err != nil {
		c.fail(err.Code, err.Reason)
		return
	}
	if !c.moveWindows(int64(c.peer.initialWindow) - int64(before)) {
		c.fail(http2.ErrCodeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE takes a window above 2^31-1")
		return
	}
	c.out.Buf = AppendSettingsAck(c.out.Buf)
	c.ready = true
	c.pump()
}

// onPing is RFC 9113 6.7.
func (c *conn) onPing(h FrameHeader, p []byte) {
	switch {
	case h.StreamID != 0:
		c.fail(http2.ErrCodeProtocol, "PING on a stream")
	case len(p) != pingLen:
		c.fail(http2.ErrCodeFrameSize, "PING is not 8 octets")
	case h.Flags.Has(http2.FlagPingAck):
	case !c.out.acknowledge():
		c.fail(http2.ErrCodeEnhanceYourCalm, "too many SETTINGS and PING")
	default:
		c.out.Buf = AppendPing(c.out.Buf, true, [pingLen]byte(p))
	}
}

// onGoAway is RFC 9113 6.8.
func (c *conn) onGoAway(h FrameHeader, p []byte) {
	switch {
	case h.StreamID != 0:
		c.fail(http2.ErrCodeProtocol, "GOAWAY on a stream")
	case len(p) < goAwayMinLen:
		c.fail(http2.ErrCodeFrameSize, "GOAWAY is shorter than 8 octets")
	default:
		c.role.onGoAway(binary.BigEndian.Uint32(p)&idMask, http2.ErrCode(binary.BigEndian.Uint32(p[4:])), p[goAwayMinLen:])
		if !c.ready {
			c.fail(http2.ErrCodeProtocol, notSettings)
		}
	}
}

// onPriority checks the frame's form (RFC 9113 6.3). Priorities are deprecated
// and ignored (RFC 9113 5.3.2). RST_STREAM must not be sent on an idle stream
// (RFC 9113 6.4), so a wrong length matters on open streams only.
func (c *conn) onPriority(h FrameHeader) {
	if h.StreamID == 0 {
		c.fail(http2.ErrCodeProtocol, "PRIORITY on stream 0")
		return
	}
	if s := c.streams.find(h.StreamID); s != nil && h.Length != priorityLen {
		c.role.streamError(s, http2.ErrCodeFrameSize, "PRIORITY is not 5 octets (RFC 9113 6.3)")
	}
}
