package h2

import "golang.org/x/net/http2"

// carryKept is the size, in octets, of the buffer for cut frames that a connection
// keeps. Most cut frames are HEADERS of a few hundred octets. A larger buffer is
// freed, because there may be ten thousand connections.
const carryKept = 1024

// reader splits the octets of a connection into frames. It returns frames in place,
// and copies a frame only if the end of a read cuts it. It returns DATA in pieces
// as they arrive, and never keeps them.
type reader struct {
	maxFrame uint32 // the SETTINGS_MAX_FRAME_SIZE we announced
	carry    []byte // the beginning of a cut frame
	lent     bool   // carry was returned as a frame: drop it at the next call
	oversize bool   // a frame was larger than maxFrame: a connection error
	badPad   bool   // padding was longer than its frame: a connection error
	data     piece
}

// piece is where the reader is inside a DATA frame.
type piece struct {
	header    FrameHeader
	size      uint32 // octets of data in the frame, without padding
	left, pad uint32 // octets of data and of padding that did not arrive yet
	open      bool   // more of the frame must arrive
	fresh     bool   // no piece was returned yet
	first     bool   // the last piece returned was the first one
}

// next returns the next frame of p, and n, the number of octets of p that it used.
// If ok is false, all of p was used and the frame is not complete, or the peer
// broke a rule: see oversize and badPad.
//
// For DATA, payload is a piece of the data without padding. data.first reports that
// it is the first piece, and data.open that more follow.
func (r *reader) next(p []byte) (h FrameHeader, payload []byte, n int, ok bool) {
	if r.data.open {
		return r.nextPiece(p, 0)
	}
	if len(r.carry) > 0 {
		if !r.lent {
			return r.resume(p)
		}
		r.dropCarry()
	}
	if len(p) < FrameHeaderLen {
		r.keep(p, 4*FrameHeaderLen)
		return h, nil, len(p), false
	}
	h = ParseFrameHeader(p)
	end := FrameHeaderLen + int(h.Length)
	switch {
	case h.Length > r.maxFrame:
		r.oversize = true
		return h, nil, 0, false
	case h.Type == http2.FrameData && (len(p) < end || h.Flags.Has(http2.FlagDataPadded)):
		return r.beginData(h, p)
	case h.Type == http2.FrameData: // most are complete
		r.data.size, r.data.first = h.Length, true
	case len(p) < end:
		r.keep(p, end)
		return h, nil, len(p), false
	}
	return h, p[FrameHeaderLen:end:end], end, true
}

// beginData starts a DATA frame whose header is at the beginning of p.
func (r *reader) beginData(h FrameHeader, p []byte) (FrameHeader, []byte, int, bool) {
	used := dataHeaderLen(h)
	if len(p) < used {
		r.keep(p, used)
		return h, nil, len(p), false
	}
	if !r.openData(h, p[used-1]) {
		return h, nil, 0, false
	}
	return r.nextPiece(p[used:], used)
}

// dataHeaderLen returns how many octets must have arrived before the reader can
// return a piece of a DATA frame: its header, and the length of its padding.
func dataHeaderLen(h FrameHeader) int {
	if h.Flags.Has(http2.FlagDataPadded) && h.Length > 0 {
		return FrameHeaderLen + 1
	}
	return FrameHeaderLen
}

// openData begins a DATA frame; pad is the octet before its data. RFC 9113 6.1:
// padding as long as the payload or longer is a PROTOCOL_ERROR.
func (r *reader) openData(h FrameHeader, pad byte) bool {
	r.data = piece{header: h, left: h.Length, open: true, fresh: true}
	if h.Flags.Has(http2.FlagDataPadded) {
		if uint32(pad) >= h.Length || h.Length == 0 {
			r.oversize, r.badPad = h.Length == 0, h.Length != 0
			return false
		}
		r.data.pad = uint32(pad)
		r.data.left -= 1 + uint32(pad)
	}
	r.data.size = r.data.left
	return true
}

// nextPiece returns what p has of the current DATA frame. used is the number of
// octets before p that belong to the frame.
func (r *reader) nextPiece(p []byte, used int) (FrameHeader, []byte, int, bool) {
	d := &r.data
	n := min(int(d.left), len(p))
	pad := min(int(d.pad), len(p)-n)
	d.left -= uint32(n)
	d.pad -= uint32(pad)
	d.open = d.left > 0 || d.pad > 0
	if n+pad == 0 && d.open {
		return d.header, nil, used, false // the header came alone
	}
	d.first, d.fresh = d.fresh, false
	return d.header, p[:n:n], used + n + pad, true
}

// resume completes the frame in carry with octets of p.
func (r *reader) resume(p []byte) (h FrameHeader, payload []byte, n int, ok bool) {
	n = r.fill(p, FrameHeaderLen)
	if len(r.carry) < FrameHeaderLen {
		return h, nil, n, false
	}
	h = ParseFrameHeader(r.carry)
	if h.Length > r.maxFrame {
		r.oversize = true
		return h, nil, n, false
	}
	if h.Type == http2.FrameData {
		return r.resumeData(h, p, n)
	}
	end := FrameHeaderLen + int(h.Length)
	n += r.fill(p[n:], end)
	if len(r.carry) < end {
		return h, nil, n, false
	}
	r.lent = true
	return h, r.carry[FrameHeaderLen:end:end], n, true
}

func (r *reader) resumeData(h FrameHeader, p []byte, n int) (FrameHeader, []byte, int, bool) {
	need := dataHeaderLen(h)
	n += r.fill(p[n:], need)
	if len(r.carry) < need {
		return h, nil, n, false
	}
	pad := r.carry[need-1]
	r.dropCarry()
	if !r.openData(h, pad) {
		return h, nil, n, false
	}
	return r.nextPiece(p[n:], n)
}

// fill copies from p until carry has want octets.
func (r *reader) fill(p []byte, want int) int {
	n := min(max(want-len(r.carry), 0), len(p))
	r.keep(p[:n], want)
	return n
}

// keep copies p to the end of carry, which will have want octets.
func (r *reader) keep(p []byte, want int) {
	if cap(r.carry) < want {
		r.carry = append(make([]byte, 0, want), r.carry...)
	}
	r.carry = append(r.carry, p...)
}

func (r *reader) dropCarry() {
	r.lent = false
	if cap(r.carry) > carryKept {
		r.carry = nil
	}
	r.carry = r.carry[:0]
}
