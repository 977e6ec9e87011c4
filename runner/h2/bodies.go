package h2

// bodyKept is the buffer for an unsent body that is kept for the next one, in
// octets.
const bodyKept = 16 << 10

// unsent is the part of a request's body that found no window, or no room in
// the out buffer.
type unsent struct {
	id   uint32 // of its stream; 0: free
	data []byte
	off  int    // octets of data that were sent
	kept []byte // memory for data that is copied
}

// bodyQueue holds the unsent bodies of a connection. Most requests never come
// here: their body fits the windows when the stream is opened.
type bodyQueue struct {
	items []unsent
	count int
	turn  int // where the next share of the connection's window begins
}

// put keeps p, or a copy of it unless it is stable, and returns 1 + its index.
func (q *bodyQueue) put(id uint32, p []byte, stable bool) uint32 {
	q.count++
	i := 0
	for i < len(q.items) && q.items[i].id != 0 {
		i++
	}
	if i == len(q.items) {
		q.items = append(q.items, unsent{})
	}
	b := &q.items[i]
	b.id, b.off, b.data = id, 0, p
	if !stable {
		b.kept = append(b.kept[:0], p...)
		b.data = b.kept
	}
	return uint32(i + 1)
}

func (q *bodyQueue) free(ref uint32) {
	b := &q.items[ref-1]
	b.id, b.data = 0, nil
	if cap(b.kept) > bodyKept {
		b.kept = nil
	}
	if q.count--; q.count == 0 && cap(q.items) > 64 {
		q.items = nil
	}
}
