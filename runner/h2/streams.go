package h2

import (
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
)

func (s *stream) is(f streamFlags) bool { return s.flags&f != 0 }

// streamTable finds streams by id. It is a hash table with linear probing, at
// most half full. Pointers into it are valid until the next add or remove.
type streamTable struct {
	ring  []stream // its length is 0 or a power of two
	count int
	// displaced is the number of streams that are not in their home entry. While
	// it is 0, which is usual for a client, remove does not have to move streams.
	displaced int
	// seed is odd and random in a server, so that a client cannot choose ids whose
	// homes are the same. 0 keeps the order of the ids, so that the consecutive ids
	// of our own client have different homes.
	seed          uint32
	factor, shift uint32 // of home
}

// home returns the first choice of an entry for a stream.
func (t *streamTable) home(id uint32) uint32 { return id * t.factor >> (t.shift & 31) }

// find returns the stream with an id other than 0, or nil.
func (t *streamTable) find(id uint32) *stream {
	if i := t.home(id); i < uint32(len(t.ring)) && t.ring[i].id == id {
		return &t.ring[i]
	}
	return t.probe(id)
}

func (t *streamTable) probe(id uint32) *stream {
	if t.displaced > 0 {
		for i := t.home(id); t.ring[i].id != 0; i = t.next(i) {
			if t.ring[i].id == id {
				return &t.ring[i]
			}
		}
	}
	return nil
}

func (t *streamTable) next(i uint32) uint32 { return (i + 1) & uint32(len(t.ring)-1) }

// add returns an entry for a stream that is not open. The caller fills it.
func (t *streamTable) add(id uint32) *stream {
	if 2*(t.count+1) > len(t.ring) {
		t.grow()
	}
	t.count++
	return t.place(id)
}

func (t *streamTable) grow() {
	old := t.ring
	t.ring, t.displaced = make([]stream, max(8, 2*len(old))), 0
	t.shift = 32 - uint32(bits.TrailingZeros(uint(len(t.ring))))
	t.factor = or(t.seed, 1<<(t.shift-1)) // ids are odd
	for i := range old {
		if id := old[i].id; id != 0 {
			*t.place(id) = old[i]
		}
	}
}

// place returns the first free entry from a stream's home on.
func (t *streamTable) place(id uint32) *stream {
	i := t.home(id)
	if t.ring[i].id != 0 {
		t.displaced++
		for t.ring[i].id != 0 {
			i = t.next(i)
		}
	}
	return &t.ring[i]
}

func (t *streamTable) remove(s *stream) {
	t.count--
	if t.displaced > 0 {
		t.closeGap(s)
		return
	}
	s.id = 0
}

// closeGap frees a stream's entry. It places the displaced streams after it again,
// up to the next free entry, so that probe finds them.
func (t *streamTable) closeGap(s *stream) {
	i := t.home(s.id)
	if &t.ring[i] != s {
		t.displaced--
	}
	for &t.ring[i] != s {
		i = t.next(i)
	}
	s.id = 0
	for i = t.next(i); t.ring[i].id != 0; i = t.next(i) {
		if moved := t.ring[i]; t.home(moved.id) != i {
			t.displaced--
			t.ring[i].id = 0
			*t.place(moved.id) = moved
		}
	}
}

// all is an iterator. The loop's body may remove the stream that it gets. After
// such a removal, it may get another stream twice.
func (t *streamTable) all(yield func(*stream) bool) {
	for i := 0; i < len(t.ring); {
		s := &t.ring[i]
		id := s.id
		if id != 0 && !yield(s) {
			return
		}
		if s.id == id || s.id == 0 { // otherwise remove has moved another stream to this entry
			i++
		}
	}
}
