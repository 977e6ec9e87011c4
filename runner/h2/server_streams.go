package h2

import (
	"math/bits"
	"math/rand/v2"
)

// serverStream is one stream that a server session has to remember: not yet complete on either
// side. It fills one cache line, since a client may hold a great many open.
type serverStream struct {
	id, tok uint32
	// sendWindow becomes negative when the client shrinks its initial window (RFC 9113
	// section 6.9.2).
	sendWindow int32
	recvWindow int32
	// left is what the request's content-length still promises, or lengthUnknown.
	left int64
	// next and prev link the send queue, as slot numbers plus one; next links free slots too.
	next, prev uint32
	slot       uint32 // its own number plus one
	flags      streamFlags
	body       []byte // what is left to send of the response
}

type streamFlags uint8

const (
	requestEnded streamFlags = 1 << iota
	responded                // the response is complete but for body
	queued
)

const lengthUnknown = -1

func (st *serverStream) is(f streamFlags) bool { return st.flags&f != 0 }

// serverStreams finds streams by id: a slab with a free list, and an index with open addressing.
// Pointers into it are valid until the next add.
type serverStreams struct {
	slots []serverStream
	free  uint32   // slot number plus one
	index []uint32 // slot numbers plus one; a power of two, at most half full
	n     int
	// last is the slot of the stream found or added last: most calls are about that one.
	last uint32
	// factor differs from session to session, so that a client cannot choose ids that collide.
	factor uint32
}

func (t *serverStreams) home(id uint32) uint32 {
	return (id >> 1) * t.factor >> (32 - uint32(bits.TrailingZeros32(uint32(len(t.index)))))
}

// find returns nil when no such stream is open.
func (t *serverStreams) find(id uint32) *serverStream {
	if t.n == 0 || id == 0 { // free slots have id 0
		return nil
	}
	if st := &t.slots[t.last]; st.id == id {
		return st
	}
	mask := uint32(len(t.index) - 1)
	for i := t.home(id); t.index[i] != 0; i = (i + 1) & mask {
		if st := &t.slots[t.index[i]-1]; st.id == id {
			t.last = t.index[i] - 1
			return st
		}
	}
	return nil
}

// add returns a zeroed stream with that id, which must not be open.
func (t *serverStreams) add(id uint32) *serverStream {
	if 2*(t.n+1) > len(t.index) {
		t.grow()
	}
	slot := t.free
	if slot == 0 {
		t.slots = append(t.slots, serverStream{})
		slot = uint32(len(t.slots))
	} else {
		t.free = t.slots[slot-1].next
	}
	st := &t.slots[slot-1]
	*st = serverStream{id: id, slot: slot}
	t.n++
	t.last = slot - 1
	t.place(id, slot)
	return st
}

func (t *serverStreams) place(id, slot uint32) {
	mask := uint32(len(t.index) - 1)
	i := t.home(id)
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = slot
}

func (t *serverStreams) grow() {
	if t.factor == 0 {
		t.factor = rand.Uint32() | 1
	}
	t.index = make([]uint32, max(16, 2*len(t.index)))
	for i := range t.slots {
		if id := t.slots[i].id; id != 0 {
			t.place(id, uint32(i)+1)
		}
	}
}

func (t *serverStreams) number(slot uint32) *serverStream { return &t.slots[slot-1] }

// remove frees a stream. It closes the gap in the index, so no tombstones build up.
func (t *serverStreams) remove(st *serverStream) {
	mask := uint32(len(t.index) - 1)
	gap := t.home(st.id)
	for t.index[gap] != st.slot {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; t.index[i] != 0; i = (i + 1) & mask {
		home := t.home(t.slots[t.index[i]-1].id)
		if (i-home)&mask >= (i-gap)&mask {
			t.index[gap] = t.index[i]
			gap = i
		}
	}
	t.index[gap] = 0
	t.n--
	t.free, *st = st.slot, serverStream{next: t.free}
}

// serverQueue lists the streams with DATA to send and an open window of their own, in the order in
// which they get their turn.
type serverQueue struct{ head, tail uint32 }

func (q *serverQueue) push(t *serverStreams, st *serverStream) {
	st.flags |= queued
	st.next, st.prev = 0, q.tail
	if q.tail == 0 {
		q.head = st.slot
	} else {
		t.number(q.tail).next = st.slot
	}
	q.tail = st.slot
}

func (q *serverQueue) remove(t *serverStreams, st *serverStream) {
	if !st.is(queued) {
		return
	}
	st.flags &^= queued
	if st.prev == 0 {
		q.head = st.next
	} else {
		t.number(st.prev).next = st.next
	}
	if st.next == 0 {
		q.tail = st.prev
	} else {
		t.number(st.next).prev = st.prev
	}
}

// endedStreams remembers the last streams that this side ended early. What the client sent on
// them before it knew is no error (RFC 9113 section 5.1, "closed").
type endedStreams struct {
	ids  []uint32 // made when first needed: most connections never do
	next uint8
}

func (e *endedStreams) add(id uint32) {
	if e.ids == nil {
		e.ids = make([]uint32, 1<<8)
	}
	e.ids[e.next] = id
	e.next++
}

func (e *endedStreams) has(id uint32) bool {
	for _, other := range e.ids {
		if other == id {
			return true
		}
	}
	return false
}
