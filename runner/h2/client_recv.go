package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// Receive takes all of p, the bytes that came from the peer; a cut frame is
// kept for the next call. An error is a connection error: the GOAWAY that tells
// the peer is pending, and the owner writes it and closes.
func (c *Client) Receive(p []byte, now int64) error {
	if c.err != nil {
		return c.err
	}
	c.now = now
	c.out.compact()
	for len(p) > 0 {
		h, payload, n, ok := c.in.next(p)
		if !ok {
			return c.cutOrBad(h)
		}
		p = p[n:]
		if err := c.onFrame(h, payload); err != nil {
			return err
		}
	}
	return nil
}

// cutOrBad says why the reader gave no frame. h is its header, as far as it has come.
func (c *Client) cutOrBad(h FrameHeader) error {
	switch {
	case !c.ready && h.isHTTP1():
		return c.fail(http2.ErrCodeProtocol, AnsweredHTTP1)
	case c.in.oversize:
		return c.fail(http2.ErrCodeFrameSize, "frame size out of range")
	case c.in.badPad:
		return c.fail(http2.ErrCodeProtocol, "padding longer than its frame")
	}
	return nil
}

// onFrame takes a complete frame, or a piece of DATA.
func (c *Client) onFrame(h FrameHeader, p []byte) error {
	if !c.block.expects(h) {
		return c.fail(http2.ErrCodeProtocol, "CONTINUATION expected or out of place")
	}
	if !c.ready && (h.Type != http2.FrameSettings || h.Flags.Has(http2.FlagSettingsAck)) {
		if h.isHTTP1() {
			return c.fail(http2.ErrCodeProtocol, AnsweredHTTP1)
		}
		return c.fail(http2.ErrCodeProtocol, "the first frame is not SETTINGS") // RFC 9113 3.4
	}
	switch h.Type {
	case http2.FrameHeaders:
		return c.onHeaders(h, p)
	case http2.FrameData:
		return c.onData(h, p)
	case http2.FrameWindowUpdate:
		return c.onWindowUpdate(h, p)
	case http2.FrameRSTStream:
		return c.onRSTStream(h, p)
	case http2.FrameSettings:
		return c.onSettings(h, p)
	case http2.FramePing:
		return c.onPing(h, p)
	case http2.FrameGoAway:
		return c.onGoAway(h, p)
	case http2.FrameContinuation:
		return c.onContinuation(h, p)
	case http2.FramePushPromise: // we sent SETTINGS_ENABLE_PUSH 0 (RFC 9113 6.6)
		return c.fail(http2.ErrCodeProtocol, "PUSH_PROMISE")
	case http2.FramePriority:
		return c.onPriority(h)
	}
	return nil // RFC 9113 4.1: unknown types are ignored
}

// idle tells whether a stream was never opened: stream 0, the peer's even ids,
// of which there are none without push, and ours that are yet to come.
func (c *Client) idle(id uint32) bool { return id&1 == 0 || id >= c.nextID }

// onPriority ignores the frame (RFC 9113 5.3.2, 6.3) but for its form.
func (c *Client) onPriority(h FrameHeader) error {
	if h.StreamID == 0 {
		return c.fail(http2.ErrCodeProtocol, "PRIORITY on stream 0")
	}
	if h.Length != priorityLen {
		if s := c.streams.find(h.StreamID); s != nil {
			c.resetStream(s, http2.ErrCodeFrameSize, "PRIORITY is not 5 octets (RFC 9113 6.3)")
		}
	}
	return nil
}

// onRSTStream is RFC 9113 6.4. On a closed stream it is late and means nothing.
func (c *Client) onRSTStream(h FrameHeader, p []byte) error {
	if len(p) != rstStreamLen {
		return c.fail(http2.ErrCodeFrameSize, "RST_STREAM is not 4 octets")
	}
	if c.idle(h.StreamID) {
		return c.fail(http2.ErrCodeProtocol, "RST_STREAM on an idle stream")
	}
	if s := c.streams.find(h.StreamID); s != nil {
		code := http2.ErrCode(binary.BigEndian.Uint32(p))
		kind := Reset
		if code == http2.ErrCodeRefusedStream { // RFC 9113 8.7
			kind = Unprocessed
		}
		c.finish(s, Outcome{Kind: kind, Code: code})
	}
	return nil
}

// onSettings is RFC 9113 6.5.
func (c *Client) onSettings(h FrameHeader, p []byte) error {
	ack := h.Flags.Has(http2.FlagSettingsAck)
	switch {
	case h.StreamID != 0:
		return c.fail(http2.ErrCodeProtocol, "SETTINGS on a stream")
	case ack && len(p) != 0, len(p)%settingLen != 0:
		return c.fail(http2.ErrCodeFrameSize, "SETTINGS of a wrong length")
	case ack:
		c.onSettingsAck()
		return nil
	}
	before := c.peer.initialWindow
	if err := c.peer.apply(p, true); err != nil {
		return c.fail(err.Code, err.Reason)
	}
	if !c.moveWindows(int64(c.peer.initialWindow) - int64(before)) {
		return c.fail(http2.ErrCodeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE takes a window above 2^31-1")
	}
	if !c.out.acknowledge() {
		return c.fail(http2.ErrCodeEnhanceYourCalm, "too many SETTINGS and PING")
	}
	c.out.buf = AppendSettingsAck(c.out.buf)
	c.ready = true
	c.setLimit()
	c.sendAll()
	return nil
}

// onSettingsAck: from now on the peer's encoder obeys our table size. Only the
// first acknowledgement has a meaning, for we send SETTINGS once.
func (c *Client) onSettingsAck() {
	if !c.acked {
		c.acked = true
		c.dec.Limit(c.cfg.HeaderTableSize)
	}
}

// moveWindows applies a change of the initial window to all open streams
// (RFC 9113 6.9.2).
func (c *Client) moveWindows(by int64) bool {
	if by == 0 {
		return true
	}
	for i := range c.streams.ring {
		if s := &c.streams.ring[i]; s.id != 0 && !widen(&s.sendWindow, by) {
			return false
		}
	}
	return true
}

// onPing is RFC 9113 6.7.
func (c *Client) onPing(h FrameHeader, p []byte) error {
	switch {
	case h.StreamID != 0:
		return c.fail(http2.ErrCodeProtocol, "PING on a stream")
	case len(p) != pingLen:
		return c.fail(http2.ErrCodeFrameSize, "PING is not 8 octets")
	case h.Flags.Has(http2.FlagPingAck):
		return nil
	case !c.out.acknowledge():
		return c.fail(http2.ErrCodeEnhanceYourCalm, "too many SETTINGS and PING")
	}
	c.out.buf = AppendPing(c.out.buf, true, [pingLen]byte(p))
	return nil
}

// onGoAway is RFC 9113 6.8: streams above the last id were not and will not be
// processed. A later GOAWAY may lower the id, and cannot raise it, because those
// streams are gone already.
func (c *Client) onGoAway(h FrameHeader, p []byte) error {
	switch {
	case h.StreamID != 0:
		return c.fail(http2.ErrCodeProtocol, "GOAWAY on a stream")
	case len(p) < goAwayMinLen:
		return c.fail(http2.ErrCodeFrameSize, "GOAWAY is shorter than 8 octets")
	}
	last := binary.BigEndian.Uint32(p) & idMask
	code := http2.ErrCode(binary.BigEndian.Uint32(p[4:]))
	c.draining, c.goneAway, c.goAway = true, true, code
	c.setLimit()
	for i := range c.streams.ring {
		if s := &c.streams.ring[i]; s.id > last {
			c.finish(s, Outcome{Kind: Unprocessed, Code: code})
		}
	}
	return nil
}

// onWindowUpdate is RFC 9113 6.9.
func (c *Client) onWindowUpdate(h FrameHeader, p []byte) error {
	if len(p) != windowUpdateLen {
		return c.fail(http2.ErrCodeFrameSize, "WINDOW_UPDATE is not 4 octets")
	}
	by := binary.BigEndian.Uint32(p) & idMask
	if h.StreamID != 0 {
		return c.onStreamWindow(h.StreamID, by)
	}
	if by == 0 {
		return c.fail(http2.ErrCodeProtocol, "WINDOW_UPDATE by 0")
	}
	if !widen(&c.sendWindow, int64(by)) {
		return c.fail(http2.ErrCodeFlowControl, "the connection's window is above 2^31-1")
	}
	c.sendAll()
	return nil
}

func (c *Client) onStreamWindow(id, by uint32) error {
	if c.idle(id) {
		return c.fail(http2.ErrCodeProtocol, "WINDOW_UPDATE on an idle stream")
	}
	s := c.streams.find(id)
	switch {
	case s == nil: // late; RFC 9113 6.9 allows it on closed streams
	case by == 0:
		c.resetStream(s, http2.ErrCodeProtocol, "WINDOW_UPDATE by 0 (RFC 9113 6.9)")
	case !widen(&s.sendWindow, int64(by)):
		c.resetStream(s, http2.ErrCodeFlowControl, "the stream's window is above 2^31-1 (RFC 9113 6.9.1)")
	default:
		for s.body != 0 && c.sendFrame(s) {
		}
	}
	return nil
}
