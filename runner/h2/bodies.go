package h2

// bodyKept is the size, in octets, of a copy's buffer that is kept for the next copy.
const bodyKept = 16 << 10

// unsent is the rest of a body that the windows or the out buffer did not allow to send.
type unsent struct {
	id     uint32 // of its stream; 0: this entry is free
	next   uint32 // the entry after this one in the queue
	queued bool
	data   []byte
	kept   []byte // memory for data that is copied
	// trailers is the header block that follows data.
	trailers []byte
}

// bodyQueue holds the unsent bodies of a connection. Most bodies never come
// here, because the windows allow them when the stream is opened. Those whose
// stream has an open window are queued. The queue's links are 1 + an index.
type bodyQueue struct {
	items      []unsent
	count      int
	free1      int // no entry below this index is free
	head, tail uint32
}

// put stores p, or a copy of it if it is not stable, and returns 1 + its index.
func (q *bodyQueue) put(id uint32, p []byte, stable bool) uint32 {
	q.count++
	i := q.free1
	for i < len(q.items) && q.items[i].id != 0 {
		i++
	}
	if i == len(q.items) {
		q.items = append(q.items, unsent{})
	}
	q.free1 = i + 1
	b := &q.items[i]
	b.id, b.data = id, p
	if !stable {
		b.kept = append(b.kept[:0], p...)
		b.data = b.kept
	}
	return uint32(i + 1)
}

// extend appends octets to a body that was copied. It first moves the rest of the
// body to the front when more than half was sent. Otherwise the copy of a body that
// never ends would grow.
func (q *bodyQueue) extend(ref uint32, p []byte) {
	b := &q.items[ref-1]
	sent := len(b.kept) - len(b.data)
	if sent > len(b.data) {
		b.kept, sent = b.kept[:copy(b.kept, b.data)], 0
	}
	b.kept = append(b.kept, p...)
	b.data = b.kept[sent:]
}

// free drops a body. Its entry stays in the queue, where pump skips it, unless
// the next body that uses the entry is queued before that.
func (q *bodyQueue) free(ref uint32) {
	b := &q.items[ref-1]
	b.id, b.data, b.trailers = 0, nil, nil
	if cap(b.kept) > bodyKept {
		b.kept = nil
	}
	q.free1 = min(q.free1, int(ref-1))
	if q.count--; q.count == 0 && cap(q.items) > 64 {
		*q = bodyQueue{}
	}
}

// push appends a body to the queue, unless it is queued.
func (q *bodyQueue) push(ref uint32) {
	b := &q.items[ref-1]
	if b.queued {
		return
	}
	b.queued, b.next = true, 0
	if q.tail == 0 {
		q.head = ref
	} else {
		q.items[q.tail-1].next = ref
	}
	q.tail = ref
}

// pop removes the first body from the queue, which must not be empty.
func (q *bodyQueue) pop() *unsent {
	b := &q.items[q.head-1]
	b.queued = false
	if q.head = b.next; q.head == 0 {
		q.tail = 0
	}
	return b
}
