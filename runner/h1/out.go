package h1

import "github.com/h2surge/h2surge/runner/protocol"

// largestCopy is the largest stable body that is copied behind its head, in
// octets: a copy costs less than a system call of its own.
const largestCopy = 16 << 10

// outBuffer is the bytes to send: Buf and then tail. Offsets count the octets of
// the connection from its first.
type outBuffer struct {
	protocol.Out
	tail  []byte // what is left of a body that is not copied
	total uint64 // offset of the first octet that the socket did not take
}

func (o *outBuffer) pending() []byte {
	if o.Sent < len(o.Buf) {
		return o.Buf[o.Sent:]
	}
	return o.tail
}

// end is the offset of what is appended next.
func (o *outBuffer) end() uint64 { return o.total + uint64(len(o.Buf)-o.Sent+len(o.tail)) }

func (o *outBuffer) wrote(n int) {
	o.total += uint64(n)
	if o.Sent == len(o.Buf) {
		o.tail = o.tail[n:]
		return
	}
	o.Took(n)
}

// emptied returns a buffer for another connection in the same memory.
func (o *outBuffer) emptied() outBuffer {
	if cap(o.Buf) > protocol.OutKept {
		return outBuffer{}
	}
	return outBuffer{Out: protocol.Out{Buf: o.Buf[:0]}}
}

// appendable moves all pending octets to Buf and returns it, so that the caller can
// append more.
func (o *outBuffer) appendable() []byte {
	o.Compact()
	if len(o.tail) > 0 {
		o.Buf = append(o.Buf, o.tail...)
		o.tail = nil
	}
	return o.Buf
}

// truncate discards the pending octets from an offset on, which is at least total.
func (o *outBuffer) truncate(offset uint64) {
	left := int(offset - o.total)
	if n := len(o.Buf) - o.Sent; left > n {
		o.tail = o.tail[:left-n]
		return
	}
	o.Buf, o.tail = o.Buf[:o.Sent+left], nil
}
