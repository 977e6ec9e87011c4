package h3

// outKept is the capacity, in octets, up to which an out buffer is never freed.
const outKept = 64 << 10

// outFull is how many octets may wait to be sent before no request may be opened.
const outFull = 512 << 10

// outBuffer holds the records to send. Whole records are appended at the end; the transport takes octets from the
// front.
type outBuffer struct {
	buf  []byte
	sent int // octets of buf that the transport took
}

func (o *outBuffer) pending() []byte { return o.buf[o.sent:] }

func (o *outBuffer) full() bool { return len(o.buf)-o.sent >= outFull }

// wrote removes n octets from the front, which the transport has taken.
func (o *outBuffer) wrote(n int) {
	o.sent += n
	switch {
	case o.sent == len(o.buf) && cap(o.buf) > outKept:
		*o = outBuffer{}
	case o.sent == len(o.buf):
		o.buf, o.sent = o.buf[:0], 0
	case o.sent > cap(o.buf)/2: // else the buffer would grow while the transport takes only parts of it
		o.buf = o.buf[:copy(o.buf, o.buf[o.sent:])]
		o.sent = 0
	}
}
