package h3

// The types of frames (RFC 9114 7.2).
const (
	frameData        = 0x00
	frameHeaders     = 0x01
	frameCancelPush  = 0x03
	frameSettings    = 0x04
	framePushPromise = 0x05
	frameGoAway      = 0x07
	frameMaxPushID   = 0x0d
)

// isHTTP2 returns whether a type is that of a frame of HTTP/2 that HTTP/3 does not have (RFC 9114 7.2.8).
func isHTTP2(kind uint64) bool { return kind == 0x02 || kind == 0x06 || kind == 0x08 || kind == 0x09 }

// frame is how far the frames of a stream have been read.
type frame struct {
	kind uint64
	left uint64 // octets of the payload that must follow
	// inside: the type and the length are known, and the payload is not complete.
	inside bool
	// head has the begin of the type and the length, n octets, if a read has cut them.
	head [16]byte
	n    uint8
}

// begin reads the type and the length of the next frame, and returns what follows. It returns ok false if p has not all
// of them, which are then kept.
func (f *frame) begin(p []byte) (rest []byte, ok bool) {
	if f.n == 0 {
		if n := f.parse(p); n > 0 {
			return p[n:], true
		}
	}
	for len(p) > 0 {
		f.head[f.n] = p[0]
		f.n++
		p = p[1:]
		if f.parse(f.head[:f.n]) > 0 {
			f.n = 0
			return p, true
		}
	}
	return nil, false
}

// parse reads the type and the length at the begin of p, which may take n octets; 0: p has not all of them.
func (f *frame) parse(p []byte) (n int) {
	kind, a := readVarint(p)
	if a == 0 {
		return 0
	}
	length, b := readVarint(p[a:])
	if b == 0 {
		return 0
	}
	f.kind, f.left, f.inside = kind, length, true
	return a + b
}

// take returns the part of p that belongs to the payload, and the rest.
func (f *frame) take(p []byte) (payload, rest []byte) {
	n := len(p)
	if f.left < uint64(n) {
		n = int(f.left)
	}
	f.left -= uint64(n)
	f.inside = f.left > 0
	return p[:n], p[n:]
}

// isCut returns whether the end of the stream would cut a frame.
func (f *frame) isCut() bool { return f.inside || f.n > 0 }
