package h2

import (
	"cmp"
	"math/bits"

	"github.com/h2surge/h2surge/runner/protocol"
)

// maxStreamID is the last stream id (RFC 9113 5.1.1).
const maxStreamID = 1<<31 - 1

// lengthUnknown is the value of stream.left without a content-length.
const lengthUnknown = -1

// stream is an open or half-closed stream, in 32 octets.
type stream struct {
	id  uint32 // 0: this entry is free
	tok uint32
	// sendWindow may be negative after the peer lowered SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 6.9.2).
	sendWindow int32
	recvWindow int32
	left       int64  // octets of content that must follow according to content-length, or lengthUnknown
	body       uint32 // 1 + the index of what was not sent of our body; 0: nothing
	want       protocol.Want
	flags      streamFlags
}

type streamFlags uint8

const (
	// gotHeader: the header of the peer's message arrived; a client does not count interim responses.
	gotHeader streamFlags = 1 << iota
	// remoteClosed: the peer sent END_STREAM (RFC 9113 5.1, half-closed (remote)).
	remoteClosed
	// responded: the server has sent the header of the response.
	responded
	// abandoned: the client's handler has its outcome or does not want one. The stream still counts against the limit.
	abandoned
	// overdue: abandoned, and the next ResetAbandoned resets it if the budget allows.
	overdue
	// cut: the client does not send the rest of the request, so that only a reset ends the stream.
	cut
	// trailing: a trailer section follows the body of the server's response.
	trailing
	// unfinished: more of our body follows, so that its last octet does not end the stream.
	unfinished
)

func (s *stream) is(f streamFlags) bool { return s.flags&f != 0 }

// streamTable finds streams by id. Each stream has a home in the ring, and at most half of the ring is in use. If two
// streams have the same home, the newer one is there. Pointers into the table are valid until the next add or remove.
type streamTable struct {
	ring []stream // its length is 0 or a power of two
	// displaced are the streams whose home a newer stream took. In a client they have waited for a response for long, so
	// that they are few and rarely looked up.
	displaced []stream
	// count is the number of streams.
	count int
	// seed is odd and random in a server, so that a client cannot choose ids whose
	// homes are the same. 0 keeps the order of the ids, so that the consecutive ids
	// of our own client have different homes.
	seed          uint32
	factor, shift uint32 // of home
}

// home returns the index of a stream's home.
func (t *streamTable) home(id uint32) uint32 { return id * t.factor >> (t.shift & 31) }

// find returns the stream with an id other than 0, or nil.
func (t *streamTable) find(id uint32) *stream {
	if i := t.home(id); i < uint32(len(t.ring)) && t.ring[i].id == id {
		return &t.ring[i]
	}
	return t.findDisplaced(id)
}

func (t *streamTable) findDisplaced(id uint32) *stream {
	for i := range t.displaced {
		if t.displaced[i].id == id {
			return &t.displaced[i]
		}
	}
	return nil
}

// add returns an entry for a stream that is not open. The caller fills it.
func (t *streamTable) add(id uint32) *stream {
	if 2*(t.count+1) > len(t.ring) {
		t.grow()
	}
	t.count++
	return t.place(id)
}

func (t *streamTable) grow() {
	ring, displaced := t.ring, t.displaced
	t.ring, t.displaced = make([]stream, max(8, 2*len(ring))), nil
	t.shift = 32 - uint32(bits.TrailingZeros(uint(len(t.ring))))
	t.factor = cmp.Or(t.seed, 1<<(t.shift-1)) // ids are odd
	for _, old := range [][]stream{displaced, ring} {
		for i := range old {
			if id := old[i].id; id != 0 {
				*t.place(id) = old[i]
			}
		}
	}
}

// place returns a stream's home, and displaces the stream that is there.
func (t *streamTable) place(id uint32) *stream {
	s := &t.ring[t.home(id)]
	if s.id != 0 {
		t.displaced = append(t.displaced, *s)
	}
	return s
}

func (t *streamTable) remove(s *stream) {
	t.count--
	if &t.ring[t.home(s.id)] == s {
		s.id = 0
		return
	}
	last := len(t.displaced) - 1
	*s = t.displaced[last]
	t.displaced = t.displaced[:last]
}

// all is an iterator. The loop's body may remove the stream that it gets.
func (t *streamTable) all(yield func(*stream) bool) {
	for i := range t.ring {
		if s := &t.ring[i]; s.id != 0 && !yield(s) {
			return
		}
	}
	for i := len(t.displaced) - 1; i >= 0; i-- { // remove replaces a stream by the last one
		if !yield(&t.displaced[i]) {
			return
		}
	}
}
