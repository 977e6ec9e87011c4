package h2

// outKept is the capacity, in octets, up to which an out buffer is never freed.
const outKept = 4096

// outShrinkAfter is a number of times. The buffer is freed after it was emptied
// so often in a row and was at most a quarter full each time. So the memory of a
// burst is freed later, and a busy connection does not allocate in each turn.
const outShrinkAfter = 64

// sendAhead bounds the DATA in the out buffer, in octets. The rest of a body
// waits outside it, and is discarded when its stream is reset.
const sendAhead = 256 << 10

// outBuffer holds the octets to send. Whole frames are appended at the end; the
// socket takes octets from the front.
type outBuffer struct {
	buf     []byte
	sent    int // octets of buf that the socket took
	control int // acknowledgements queued since the buffer was last empty
	slack   int // times in a row that the buffer was much too large
}

func (o *outBuffer) pending() []byte { return o.buf[o.sent:] }

// spare returns how many octets of DATA the buffer accepts before it holds
// sendAhead octets; negative when it holds more.
func (o *outBuffer) spare() int { return sendAhead - (len(o.buf) - o.sent) }

// full reports that the buffer holds at least twice sendAhead octets, so that no
// stream may be opened. HEADERS frames ignore spare, so they need this bound.
func (o *outBuffer) full() bool { return o.spare() <= -sendAhead }

// wrote removes n octets from the front, which the socket has taken.
func (o *outBuffer) wrote(n int) {
	o.sent += n
	if o.sent < len(o.buf) {
		o.compact()
		return
	}
	o.noteUse(len(o.buf))
	o.buf, o.sent, o.control = o.buf[:0], 0, 0
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

// compact moves the pending octets to the front when more than half of the
// buffer was sent. Otherwise the buffer would grow while the socket takes only
// parts of it.
func (o *outBuffer) compact() {
	if o.sent > cap(o.buf)/2 {
		o.buf = o.buf[:copy(o.buf, o.buf[o.sent:])]
		o.sent = 0
	}
}

// maxControl bounds the acknowledgements queued for a peer that sends PING or
// SETTINGS frames and does not read (CVE-2019-9512, CVE-2019-9515).
const maxControl = 1000

// acknowledge counts an acknowledgement that is about to be queued, and returns
// false when the queue has more than maxControl.
func (o *outBuffer) acknowledge() bool {
	o.control++
	return o.control <= maxControl
}
