package h2

import "github.com/h2surge/h2surge/runner/protocol"

// sendAhead bounds the DATA in the out buffer, in octets. The rest of a body
// waits outside it, and is discarded when its stream is reset.
const sendAhead = 256 << 10

// outBuffer holds the octets to send. Whole frames are appended at the end; the
// socket takes octets from the front.
type outBuffer struct {
	protocol.Out
	control int // acknowledgements queued in this turn
	turn    int // octets that the socket takes until the next turn
}

func (o *outBuffer) pending() []byte { return o.Buf[o.Sent:] }

// spare returns how many octets of DATA the buffer accepts before it holds
// sendAhead octets; negative when it holds more.
func (o *outBuffer) spare() int { return sendAhead - (len(o.Buf) - o.Sent) }

// full reports that the buffer holds at least twice sendAhead octets, so that no
// stream may be opened. HEADERS frames ignore spare, so they need this bound.
func (o *outBuffer) full() bool { return o.spare() <= -sendAhead }

// wrote removes n octets from the front, which the socket has taken.
func (o *outBuffer) wrote(n int) {
	o.Took(n)
	o.Compact()
	if o.turn -= n; o.turn <= 0 {
		o.control, o.turn = 0, len(o.pending())
	}
}

// maxControl bounds the acknowledgements queued in a turn, for a peer that sends PING
// or SETTINGS frames and does not read (CVE-2019-9512, CVE-2019-9515). A turn lasts
// until the socket has taken what was in the buffer at its begin. So at most twice
// this number wait, and an upload that never lets the buffer be empty has turns, too.
const maxControl = 1000

// acknowledge counts an acknowledgement that is about to be queued, and returns
// false when the turn has more than maxControl.
func (o *outBuffer) acknowledge() bool {
	o.control++
	return o.control <= maxControl
}
