package h2

import "golang.org/x/net/http2"

// maxContinuations bounds the CONTINUATION frames of one header block, because many
// small or empty ones cost time (CVE-2024-27316). 64 frames of the smallest
// SETTINGS_MAX_FRAME_SIZE have a megabyte.
const maxContinuations = 64

// blockKept is the size, in octets, of the buffer for split header blocks that a
// connection keeps.
const blockKept = 1024

// block collects a header block that is split into HEADERS and CONTINUATION frames
// (RFC 9113 4.3). A block in one frame is decoded in place.
type block struct {
	buf    []byte
	id     uint32 // of the stream; 0: no block has begun
	end    bool   // HEADERS had END_STREAM
	frames int    // CONTINUATION frames so far
}

func (b *block) begin(id uint32, end bool, fragment []byte) {
	b.id, b.end, b.frames = id, end, 0
	b.buf = append(b.buf[:0], fragment...)
}

// expects reports that the frame may come now. Inside a block, it must be the
// block's CONTINUATION (RFC 9113 6.2). Outside, it must be another type.
func (b *block) expects(h FrameHeader) bool {
	if b.id == 0 {
		return h.Type != http2.FrameContinuation
	}
	return h.Type == http2.FrameContinuation && h.StreamID == b.id
}

// add appends a CONTINUATION. It returns false if the block exceeds limit octets or
// has too many frames.
func (b *block) add(fragment []byte, limit uint32) bool {
	b.frames++
	if b.frames > maxContinuations || uint64(len(b.buf))+uint64(len(fragment)) > uint64(limit) {
		return false
	}
	b.buf = append(b.buf, fragment...)
	return true
}

// take ends the block and returns it. It is valid until the next begin.
func (b *block) take() []byte {
	p := b.buf
	b.id = 0
	if cap(p) > blockKept {
		b.buf = nil
	}
	return p
}
