package h2

// bodyKept is the buffer for an unsent body that is kept for the next one, in
// octets.
const bodyKept = 16 << 10

// unsent is the part of a request's body that found no window.
type unsent struct {
	id   uint32 // of its stream; 0: free
	data []byte
	off  int // octets of data that were sent
}

// bodyQueue holds the unsent bodies of a connection. Most requests never come
// here: their body fits the windows when the stream is opened.
type bodyQueue struct {
	items []unsent
	count int
	turn  int // where the next share of the connection's window begins
}

// put keeps a copy of p and returns 1 + its index.
func (q *bodyQueue) put(id uint32, p []byte) uint32 {
	q.count++
	for i := range q.items {
		if q.items[i].id == 0 {
			q.items[i] = unsent{id: id, data: append(q.items[i].data[:0], p...)}
			return uint32(i + 1)
		}
	}
	q.items = append(q.items, unsent{id: id, data: append([]byte(nil), p...)})
	return uint32(len(q.items))
}

func (q *bodyQueue) free(ref uint32) {
	b := &q.items[ref-1]
	b.id = 0
	if cap(b.data) > bodyKept {
		b.data = nil
	}
	if q.count--; q.count == 0 && cap(q.items) > 64 {
		q.items = nil
	}
}
