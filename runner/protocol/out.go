package protocol

// OutKept is the capacity, in octets, up to which an Out is never freed.
const OutKept = 4096

// outShrinkAfter is a number of times. The buffer is freed after it was emptied
// so often in a row and was at most a quarter full each time. So the memory of a
// burst is freed later, and a busy connection does not allocate in each turn.
const outShrinkAfter = 64

// Out holds octets to send. A session appends at the end; the socket takes octets from the front.
type Out struct {
	Buf   []byte
	Sent  int // octets of Buf that the socket took
	slack int // times in a row that the buffer was much too large
}

// Took removes n octets from the front, which the socket has taken.
func (o *Out) Took(n int) {
	if o.Sent += n; o.Sent < len(o.Buf) {
		return
	}
	used := len(o.Buf)
	o.Buf, o.Sent = o.Buf[:0], 0
	if cap(o.Buf) <= OutKept || used > cap(o.Buf)/4 {
		o.slack = 0
	} else if o.slack++; o.slack == outShrinkAfter {
		o.Buf, o.slack = nil, 0
	}
}

// Compact moves the pending octets to the front when more than half of the
// buffer was sent. Otherwise the buffer would grow while the socket takes only
// parts of it.
func (o *Out) Compact() {
	if o.Sent > cap(o.Buf)/2 {
		o.Buf = o.Buf[:copy(o.Buf, o.Buf[o.Sent:])]
		o.Sent = 0
	}
}
