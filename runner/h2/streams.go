package h2

// maxStreamID is the last stream id there is (RFC 9113 5.1.1).
const maxStreamID = 1<<31 - 1

// idReserve are the ids left unused at the end, so that opening a stream never
// meets the end of them: far more than place can skip.
const idReserve = 1 << 21

// stream is one request under way, 40 octets.
type stream struct {
	id         uint32 // 0: this place is free
	tok        uint32
	sendWindow int32
	recvWindow int32
	left       int64  // octets of content still to come by content-length; -1: not known
	body       uint32 // 1 + index of the part of the request's body not sent; 0: all is sent
	want       Want
	flags      requestState
}

type requestState uint8

const (
	gotFinal requestState = 1 << iota // the final response's header came
	// abandoned: the handler has its outcome or does not want one; it only still counts against the limit.
	abandoned
	// answered: abandoned, because the response is complete and the request is not.
	answered
	// cut: the rest of the request will not be sent, so that only a reset ends the stream.
	cut
	// overdue: abandoned, and the next ResetAbandoned resets it if the budget allows.
	overdue
)

// streamTable finds streams by id. Client ids are odd and ascend, so the table
// is a ring indexed by id, at most half full. A stream that outlives a whole lap
// keeps its place, and the id which would collide with it is skipped: skipping
// ids is legal (RFC 9113 5.1.1), and cheaper than any probing.
type streamTable struct {
	ring  []stream // length is 0 or a power of two
	count int
}

// find is the stream with an id other than 0, or nil.
func (t *streamTable) find(id uint32) *stream {
	if len(t.ring) == 0 {
		return nil
	}
	if s := t.place(id); s.id == id {
		return s
	}
	return nil
}

func (t *streamTable) place(id uint32) *stream {
	return &t.ring[(id>>1)&uint32(len(t.ring)-1)]
}

// add takes the place of the first id from id on which is free.
func (t *streamTable) add(id uint32) *stream {
	if 2*(t.count+1) > len(t.ring) {
		t.grow()
	}
	s := t.place(id)
	for s.id != 0 {
		id += 2
		s = t.place(id)
	}
	t.count++
	s.id = id
	return s
}

func (t *streamTable) grow() {
	old := t.ring
	t.ring = make([]stream, max(8, 2*len(old)))
	for i := range old {
		if old[i].id != 0 {
			*t.place(old[i].id) = old[i]
		}
	}
}

func (t *streamTable) remove(s *stream) {
	s.id = 0
	t.count--
}
