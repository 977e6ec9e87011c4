package h2

// outKept is the out buffer a connection keeps whatever it is used for, in
// octets.
const outKept = 4096

// outShrinkAfter is how many times in a row a buffer must be less than a
// quarter full at its fullest before it is given back: a burst must not cost
// its memory for good, and a busy connection must not allocate each turn.
const outShrinkAfter = 64

// sendAhead is how much DATA a client session puts into its out buffer before
// the socket has taken it, in octets. The rest of the bodies stays where it is,
// and goes with its stream when that is cancelled.
const sendAhead = 256 << 10

// outBuffer is the bytes to send: appended to at the end, taken off at the
// front, whole frames only.
type outBuffer struct {
	buf     []byte
	sent    int // octets of buf that the socket took
	control int // acknowledgements queued since the buffer was last empty
	slack   int // times in a row that the buffer was much too large
}

func (o *outBuffer) pending() []byte { return o.buf[o.sent:] }

// room is how much may be put into the buffer before it holds sendAhead octets.
func (o *outBuffer) room() int { return sendAhead - (len(o.buf) - o.sent) }

// full reports that so much waits for the socket that no stream may be opened:
// headers come on top of sendAhead.
func (o *outBuffer) full() bool { return o.room() <= -sendAhead }

// wrote takes n octets off the front.
func (o *outBuffer) wrote(n int) {
	o.sent += n
	if o.sent < len(o.buf) {
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

// compact moves what is pending to the front once most of the buffer was sent,
// so that a socket which never takes all does not make it grow for ever.
func (o *outBuffer) compact() {
	if o.sent > cap(o.buf)/2 {
		o.buf = o.buf[:copy(o.buf, o.buf[o.sent:])]
		o.sent = 0
	}
}

// maxControl bounds the acknowledgements that wait for a peer which asks and
// does not read (CVE-2019-9512, CVE-2019-9515).
const maxControl = 1000

// acknowledge counts an acknowledgement about to be queued; false when too many wait.
func (o *outBuffer) acknowledge() bool {
	o.control++
	return o.control <= maxControl
}
