package h3

// outKept is the capacity, in octets, up to which an out buffer is never freed.
const outKept = 64 << 10

// outFull is how many octets may wait to be sent before no request may be opened.
const outFull = 512 << 10

// outBuffer holds the records to send. Whole records are appended at the end; the transport takes octets from the
// front.
type outBuffer struct {
	// first are the records before those of buf: they do not wait for requests that the transport does not take.
	first []byte
	buf   []byte
	sent  int // octets of buf that the transport took
}

func (o *outBuffer) pending() []byte {
	if len(o.first) > 0 {
		return o.first
	}
	return o.buf[o.sent:]
}

func (o *outBuffer) full() bool { return len(o.buf)-o.sent >= outFull }

// wrote removes n octets from the front of what is pending, which the transport has taken.
func (o *outBuffer) wrote(n int) {
	if len(o.first) > 0 {
		o.first = append(o.first[:0], o.first[n:]...)
		return
	}
	o.sent += n
	switch {
	case o.sent == len(o.buf) && cap(o.buf) > outKept:
		o.buf, o.sent = nil, 0
	case o.sent == len(o.buf):
		o.buf, o.sent = o.buf[:0], 0
	case o.sent > cap(o.buf)/2: // else the buffer would grow while the transport takes only parts of it
		o.buf = o.buf[:copy(o.buf, o.buf[o.sent:])]
		o.sent = 0
	}
}
