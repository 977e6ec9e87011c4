package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// Sizes of RFC 9113 section 4 and 6, in octets.
const (
	FrameHeaderLen  = 9
	minMaxFrameSize = 1 << 14
	maxMaxFrameSize = 1<<24 - 1
	settingLen      = 6
	priorityLen     = 5
	pingLen         = 8
	rstStreamLen    = 4
	windowUpdateLen = 4
	goAwayMinLen    = 8
)

// idMask removes the reserved bit of a stream id or a window increment, which
// receivers ignore (RFC 9113 4.1, 6.9).
const idMask = 1<<31 - 1

// FrameHeader is the first nine octets of a frame (RFC 9113 4.1).
type FrameHeader struct {
	Length   uint32
	Type     http2.FrameType
	Flags    http2.Flags
	StreamID uint32
}

// ParseFrameHeader reads the frame header at the beginning of p, which must
// have FrameHeaderLen octets or more.
func ParseFrameHeader(p []byte) FrameHeader {
	_ = p[FrameHeaderLen-1]
	w := binary.BigEndian.Uint64(p)
	return FrameHeader{
		Length:   uint32(w >> 40),
		Type:     http2.FrameType(w >> 32),
		Flags:    http2.Flags(w >> 24),
		StreamID: (uint32(w)<<8 | uint32(p[8])) & idMask,
	}
}

// isHTTP1 reports that the nine octets are not a frame header but the beginning of a response of HTTP/1: "HTTP/1.1 ",
// "HTTP/1.0 ", or HTML. Servers that take the preface for a request of HTTP/0.9 answer with HTML and no head.
func (h FrameHeader) isHTTP1() bool {
	const version = '1'<<24 | '.'<<16 | '0'<<8 | ' '
	switch h.Length | 0x2020 { // lower case, except for the first octet
	case '<'<<16 | '!'<<8 | 'd', '<'<<16 | 'h'<<8 | 't':
		return true
	}
	return h.Length == 'H'<<16|'T'<<8|'T' && h.Type == 'P' && h.Flags == '/' && h.StreamID&^(1<<8) == version
}

// AppendFrameHeader appends a frame header.
func AppendFrameHeader(dst []byte, h FrameHeader) []byte {
	return append(dst, byte(h.Length>>16), byte(h.Length>>8), byte(h.Length), byte(h.Type), byte(h.Flags),
		byte(h.StreamID>>24), byte(h.StreamID>>16), byte(h.StreamID>>8), byte(h.StreamID))
}

// putFrameHeader writes a frame header to the beginning of p.
func putFrameHeader(p []byte, h FrameHeader) {
	_ = p[FrameHeaderLen-1]
	binary.BigEndian.PutUint64(p, uint64(h.Length)<<40|uint64(h.Type)<<32|uint64(h.Flags)<<24|uint64(h.StreamID>>8))
	p[8] = byte(h.StreamID)
}

// endStream is the END_STREAM flag, the same bit in DATA and HEADERS, or none.
func endStream(end bool) http2.Flags {
	if end {
		return http2.FlagDataEndStream
	}
	return 0
}

// AppendData appends a DATA frame (RFC 9113 6.1).
func AppendData(dst []byte, id uint32, end bool, p []byte) []byte {
	dst = AppendFrameHeader(dst, FrameHeader{uint32(len(p)), http2.FrameData, endStream(end), id})
	return append(dst, p...)
}

// AppendHeaders appends a HEADERS frame (RFC 9113 6.2); endHeaders says that no
// CONTINUATION follows.
func AppendHeaders(dst []byte, id uint32, end, endHeaders bool, block []byte) []byte {
	flags := endStream(end)
	if endHeaders {
		flags |= http2.FlagHeadersEndHeaders
	}
	dst = AppendFrameHeader(dst, FrameHeader{uint32(len(block)), http2.FrameHeaders, flags, id})
	return append(dst, block...)
}

// AppendContinuation appends a CONTINUATION frame (RFC 9113 6.10).
func AppendContinuation(dst []byte, id uint32, endHeaders bool, block []byte) []byte {
	flags := http2.Flags(0)
	if endHeaders {
		flags = http2.FlagContinuationEndHeaders
	}
	dst = AppendFrameHeader(dst, FrameHeader{uint32(len(block)), http2.FrameContinuation, flags, id})
	return append(dst, block...)
}

// AppendRSTStream appends a RST_STREAM frame (RFC 9113 6.4).
func AppendRSTStream(dst []byte, id uint32, code http2.ErrCode) []byte {
	dst = AppendFrameHeader(dst, FrameHeader{rstStreamLen, http2.FrameRSTStream, 0, id})
	return binary.BigEndian.AppendUint32(dst, uint32(code))
}

// AppendSettings appends a SETTINGS frame (RFC 9113 6.5).
func AppendSettings(dst []byte, settings ...http2.Setting) []byte {
	dst = AppendFrameHeader(dst, FrameHeader{uint32(len(settings) * settingLen), http2.FrameSettings, 0, 0})
	for _, s := range settings {
		dst = binary.BigEndian.AppendUint16(dst, uint16(s.ID))
		dst = binary.BigEndian.AppendUint32(dst, s.Val)
	}
	return dst
}

// AppendSettingsAck appends the acknowledgement of a SETTINGS frame.
func AppendSettingsAck(dst []byte) []byte {
	return AppendFrameHeader(dst, FrameHeader{0, http2.FrameSettings, http2.FlagSettingsAck, 0})
}

// AppendPing appends a PING frame (RFC 9113 6.7).
func AppendPing(dst []byte, ack bool, data [pingLen]byte) []byte {
	flags := http2.Flags(0)
	if ack {
		flags = http2.FlagPingAck
	}
	dst = AppendFrameHeader(dst, FrameHeader{pingLen, http2.FramePing, flags, 0})
	return append(dst, data[:]...)
}

// AppendGoAway appends a GOAWAY frame (RFC 9113 6.8).
func AppendGoAway(dst []byte, last uint32, code http2.ErrCode, debug string) []byte {
	dst = AppendFrameHeader(dst, FrameHeader{uint32(goAwayMinLen + len(debug)), http2.FrameGoAway, 0, 0})
	dst = binary.BigEndian.AppendUint32(dst, last)
	dst = binary.BigEndian.AppendUint32(dst, uint32(code))
	return append(dst, debug...)
}

// AppendWindowUpdate appends a WINDOW_UPDATE frame (RFC 9113 6.9); id 0 is the
// connection.
func AppendWindowUpdate(dst []byte, id, increment uint32) []byte {
	dst = AppendFrameHeader(dst, FrameHeader{windowUpdateLen, http2.FrameWindowUpdate, 0, id})
	return binary.BigEndian.AppendUint32(dst, increment)
}

// AppendHeaderBlock appends a whole header block: a HEADERS frame and as many
// CONTINUATION frames as a peer that takes maxFrame octets a frame needs.
func AppendHeaderBlock(dst []byte, id uint32, end bool, block []byte, maxFrame uint32) []byte {
	n := min(len(block), int(maxFrame))
	dst = AppendHeaders(dst, id, end, n == len(block), block[:n])
	for block = block[n:]; len(block) > 0; block = block[n:] {
		n = min(len(block), int(maxFrame))
		dst = AppendContinuation(dst, id, n == len(block), block[:n])
	}
	return dst
}

// headerFragment removes padding and priority from the payload of a HEADERS frame
// (RFC 9113 6.2). The code, unless 0, is that of a connection error.
func headerFragment(h FrameHeader, p []byte) (fragment []byte, code http2.ErrCode) {
	pad := 0
	if h.Flags&http2.FlagHeadersPadded != 0 {
		if len(p) < 1 {
			return nil, http2.ErrCodeFrameSize
		}
		pad, p = int(p[0]), p[1:]
	}
	if h.Flags&http2.FlagHeadersPriority != 0 {
		if len(p) < priorityLen {
			return nil, http2.ErrCodeFrameSize
		}
		p = p[priorityLen:]
	}
	if pad > len(p) {
		return nil, http2.ErrCodeProtocol
	}
	return p[:len(p)-pad], 0
}
