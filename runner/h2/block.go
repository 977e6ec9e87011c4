package h2

import "golang.org/x/net/http2"

// maxContinuations bounds the CONTINUATION frames of one header block: many
// small or empty ones cost much and carry nothing (CVE-2024-27316 and its like).
// At the smallest legal frame size that a peer has a reason to fill, 64 frames
// hold a megabyte.
const maxContinuations = 64

// blockKept is the buffer for cut header blocks that a connection keeps, in
// octets.
const blockKept = 1024

// block collects a header block that is cut into HEADERS and CONTINUATION
// frames (RFC 9113 4.3). A block in one frame is decoded where it lies.
type block struct {
	buf    []byte
	id     uint32 // of the stream; 0: no block is under way
	end    bool   // HEADERS had END_STREAM
	frames int    // CONTINUATION frames so far
}

func (b *block) begin(id uint32, end bool, fragment []byte) {
	b.id, b.end, b.frames = id, end, 0
	b.buf = append(b.buf[:0], fragment...)
}

// expects tells whether the frame may come now: inside a block only its
// CONTINUATION (RFC 9113 6.2), outside none.
func (b *block) expects(h FrameHeader) bool {
	if b.id == 0 {
		return h.Type != http2.FrameContinuation
	}
	return h.Type == http2.FrameContinuation && h.StreamID == b.id
}

// add appends a CONTINUATION; false when the block exceeds limit octets or has
// too many frames.
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
