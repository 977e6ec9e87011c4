package h1

// outKept is the capacity, in octets, up to which an out buffer is never freed.
const outKept = 4096

// outShrinkAfter is a number of times. The buffer is freed after it was emptied
// so often in a row and was at most a quarter full each time. So the memory of a
// burst is freed later, and a busy connection does not allocate in each turn.
const outShrinkAfter = 64

// largestCopy is the largest stable body that is copied behind its head, in
// octets: a copy costs less than a system call of its own.
const largestCopy = 16 << 10

// outBuffer is the bytes to send: buf and then tail. Offsets count the octets of
// the connection from its first.
type outBuffer struct {
	buf   []byte
	sent  int    // octets of buf that the socket took
	tail  []byte // what is left of a body that is not copied
	total uint64 // offset of the first octet that it did not
	slack int    // times in a row that the buffer was much too large
}

func (o *outBuffer) pending() []byte {
	if o.sent < len(o.buf) {
		return o.buf[o.sent:]
	}
	return o.tail
}

// end is the offset of what is appended next.
func (o *outBuffer) end() uint64 { return o.total + uint64(len(o.buf)-o.sent+len(o.tail)) }

func (o *outBuffer) wrote(n int) {
	o.total += uint64(n)
	if o.sent == len(o.buf) {
		o.tail = o.tail[n:]
		return
	}
	if o.sent += n; o.sent < len(o.buf) {
		return
	}
	o.noteUse(len(o.buf))
	o.buf, o.sent = o.buf[:0], 0
}

func (o *outBuffer) noteUse(used int) {
	if cap(o.buf) <= outKept || used > cap(o.buf)/4 {
		o.slack = 0
		return
	}
	if o.slack++; o.slack == outShrinkAfter {
		o.buf, o.slack = nil, 0
	}
}

// emptied returns a buffer for another connection in the same memory.
func (o *outBuffer) emptied() outBuffer {
	if cap(o.buf) > outKept {
		return outBuffer{}
	}
	return outBuffer{buf: o.buf[:0]}
}

// appendable moves all pending octets to buf and returns it, so that the caller can
// append more.
func (o *outBuffer) appendable() []byte {
	o.compact()
	if len(o.tail) > 0 {
		o.buf = append(o.buf, o.tail...)
		o.tail = nil
	}
	return o.buf
}

// compact moves the pending octets to the front when more than half of the
// buffer was sent. Otherwise the buffer would grow while the socket takes only
// parts of it.
func (o *outBuffer) compact() {
	if o.sent > cap(o.buf)/2 {
		o.buf = o.buf[:copy(o.buf, o.buf[o.sent:])]
		o.sent = 0
	}
}

// truncate discards the pending octets from an offset on, which is at least total.
func (o *outBuffer) truncate(offset uint64) {
	left := int(offset - o.total)
	if n := len(o.buf) - o.sent; left > n {
		o.tail = o.tail[:left-n]
		return
	}
	o.buf, o.tail = o.buf[:o.sent+left], nil
}
