package h3

import (
	"slices"

	"golang.org/x/net/http2"

	"github.com/h2surge/h2surge/runner/protocol"
)

// The types of unidirectional streams (RFC 9114 6.2, RFC 9204 4.2).
const (
	streamControl = 0x00
	streamPush    = 0x01
	streamEncoder = 0x02
	streamDecoder = 0x03
)

// The settings of a session (RFC 9114 7.2.4.1, RFC 9204 5).
const (
	settingTableCapacity   = 0x01
	settingMaxFieldSection = 0x06
)

// appendSettings appends the SETTINGS of a session. 0 is the default of the table's capacity, so it is not sent.
func appendSettings(dst []byte, cfg *Config) []byte {
	payload := appendVarint([]byte{settingMaxFieldSection}, uint64(cfg.MaxHeaderListSize))
	return append(appendVarint(append(dst, frameSettings), uint64(len(payload))), payload...)
}

// maxPayload bounds the payload of SETTINGS and GOAWAY, in octets.
const maxPayload = 16 << 10

// maxSettings bounds the settings that a peer may send.
const maxSettings = 256

// peerStream is a unidirectional stream of the peer, and how far it has been read.
type peerStream struct {
	number uint32
	kind   uint64
	typed  bool // kind is known
	frame  frame
	buf    []byte // the begin of the type of the stream, or of a payload
}

// isCritical returns whether the end of the stream is an error (RFC 9114 6.2.1, RFC 9204 4.2).
func (s *peerStream) isCritical() bool {
	return s.typed && (s.kind == streamControl || s.kind == streamEncoder || s.kind == streamDecoder)
}

// onPeer takes octets of a unidirectional stream of the peer.
func (c *Client) onPeer(r *Record) {
	i := slices.IndexFunc(c.peers, func(s peerStream) bool { return s.number == r.Stream })
	if i < 0 {
		i = len(c.peers)
		c.peers = append(c.peers, peerStream{number: r.Stream})
	}
	s, p := &c.peers[i], r.Data
	if !s.typed {
		s.buf = append(s.buf, p...)
		kind, n := readVarint(s.buf)
		if n > 0 {
			s.kind, s.typed, p = kind, true, s.buf[n:]
			s.buf = nil
			c.onType(kind)
		}
	}
	if s.typed && c.err == nil {
		c.onPeerData(s, p)
	}
	if r.Fin && c.err == nil {
		c.onPeerEnd(r.Stream)
	}
}

// onType handles the type of a new stream. Those of unknown types are ignored (RFC 9114 6.2.3).
func (c *Client) onType(kind uint64) {
	switch {
	case kind == streamPush:
		c.fail(protocol.H3IDError, "a push stream without MAX_PUSH_ID (RFC 9114 4.6)")
	case kind > streamDecoder:
	case c.opened[kind]:
		c.fail(protocol.H3StreamCreationError, "a second control or QPACK stream (RFC 9114 6.2.1, RFC 9204 4.2)")
	default:
		c.opened[kind] = true
	}
}

// onPeerEnd handles the end or the reset of a stream of the peer.
func (c *Client) onPeerEnd(number uint32) {
	i := slices.IndexFunc(c.peers, func(s peerStream) bool { return s.number == number })
	if i < 0 {
		return
	}
	if c.peers[i].isCritical() {
		c.fail(protocol.H3ClosedCriticalStream, "the end of a control or QPACK stream (RFC 9114 6.2.1, RFC 9204 4.2)")
		return
	}
	c.peers = slices.Delete(c.peers, i, i+1)
}

func (c *Client) onPeerData(s *peerStream, p []byte) {
	switch s.kind {
	case streamControl:
		c.onControl(s, p)
	case streamEncoder:
		for _, b := range p {
			if b != 0x20 { // not the capacity 0 (RFC 9204 4.3.1)
				c.fail(protocol.QPACKEncoderStream, "an instruction for a dynamic table of size 0 (RFC 9204 3.2.3)")
				return
			}
		}
	case streamDecoder:
		c.onDecoder(s, p)
	}
}

// onDecoder takes instructions of the peer's decoder. Only the cancellation of a stream can be right, because the
// session inserts nothing (RFC 9204 4.4).
func (c *Client) onDecoder(s *peerStream, p []byte) {
	for _, b := range p {
		switch {
		case len(s.buf) > 0: // inside the integer of a cancellation
			s.buf = append(s.buf, b)
			if len(s.buf) > 10 {
				c.fail(protocol.QPACKDecoderStream, "an integer is too large (RFC 9204 4.1.1)")
				return
			}
			if b < 0x80 {
				s.buf = s.buf[:0]
			}
		case b&0xc0 != 0x40:
			c.fail(protocol.QPACKDecoderStream, "an acknowledgement of what was not sent (RFC 9204 4.4)")
			return
		case b == 0x7f:
			s.buf = append(s.buf, b)
		}
	}
}

// onControl takes octets of the peer's control stream.
func (c *Client) onControl(s *peerStream, p []byte) {
	for len(p) > 0 && c.err == nil {
		if !s.frame.inside {
			var ok bool
			if p, ok = s.frame.begin(p); !ok {
				return
			}
			if c.onControlFrame(s); c.err != nil {
				return
			}
		}
		var payload []byte
		payload, p = s.frame.take(p)
		c.onControlPayload(s, payload)
	}
}

// onControlFrame handles the begin of a frame: whether it may come now (RFC 9114 6.2.1, 7.2).
func (c *Client) onControlFrame(s *peerStream) {
	s.buf = s.buf[:0]
	switch kind := s.frame.kind; {
	case !c.settled && kind != frameSettings:
		c.fail(protocol.H3MissingSettings, "the first frame of the control stream is not SETTINGS (RFC 9114 6.2.1)")
	case c.settled && kind == frameSettings:
		c.fail(protocol.H3FrameUnexpected, "a second SETTINGS (RFC 9114 7.2.4)")
	case kind == frameCancelPush:
		c.fail(protocol.H3IDError, "CANCEL_PUSH of a push that was not promised (RFC 9114 7.2.3)")
	case kind == frameData, kind == frameHeaders, kind == framePushPromise, kind == frameMaxPushID, isHTTP2(kind):
		c.fail(protocol.H3FrameUnexpected, "a frame that the control stream of a server cannot have (RFC 9114 7.2)")
	case (kind == frameSettings || kind == frameGoAway) && s.frame.left > maxPayload:
		c.fail(protocol.H3ExcessiveLoad, "SETTINGS or GOAWAY is too large (RFC 9114 10.5)")
	}
}

// onControlPayload handles a part of the payload of a frame.
func (c *Client) onControlPayload(s *peerStream, p []byte) {
	if s.frame.kind != frameSettings && s.frame.kind != frameGoAway {
		return
	}
	s.buf = append(s.buf, p...)
	switch {
	case s.frame.inside:
	case s.frame.kind == frameSettings:
		c.onSettings(s.buf)
	default:
		c.onGoAway(s.buf)
	}
}

// onSettings handles the settings of the peer (RFC 9114 7.2.4). None of them bounds what the session sends: requests do
// not use the dynamic table, and a server that finds a header too large answers with status 431.
func (c *Client) onSettings(p []byte) {
	var seen []uint64
	for len(p) > 0 {
		id, a := readVarint(p)
		_, b := readVarint(p[a:])
		switch {
		case a == 0 || b == 0:
			c.fail(protocol.H3FrameError, "SETTINGS ends inside a setting (RFC 9114 7.1)")
		case id >= 0x02 && id <= 0x05:
			c.fail(protocol.H3SettingsError, "a setting of HTTP/2 (RFC 9114 7.2.4.1)")
		case slices.Contains(seen, id):
			c.fail(protocol.H3SettingsError, "a setting comes twice (RFC 9114 7.2.4)")
		case len(seen) == maxSettings:
			c.fail(protocol.H3ExcessiveLoad, "too many settings (RFC 9114 10.5)")
		default:
			seen = append(seen, id)
			p = p[a+b:]
			continue
		}
		return
	}
	c.settled = true
}

// onGoAway handles GOAWAY: the peer has not processed the streams from the id on, and will not (RFC 9114 5.2).
func (c *Client) onGoAway(p []byte) {
	id, n := readVarint(p)
	switch {
	case n == 0 || n != len(p):
		c.fail(protocol.H3FrameError, "GOAWAY has not exactly an id (RFC 9114 7.1)")
		return
	case id%4 != 0:
		c.fail(protocol.H3IDError, "GOAWAY with the id of a stream that is not a request (RFC 9114 7.2.6)")
		return
	case c.peerGone && id > c.peerLast:
		c.fail(protocol.H3IDError, "GOAWAY with a larger id than the one before (RFC 9114 5.2)")
		return
	}
	c.peerGone, c.peerLast = true, id
	for i := range c.streams {
		if s := &c.streams[i]; s.isOpen() && uint64(s.stream)*4 >= id {
			c.cancel(s, protocol.H3RequestCancelled)
			c.finish(s, protocol.Outcome{Kind: protocol.Unprocessed, Code: http2.ErrCode(0)})
		}
	}
}
