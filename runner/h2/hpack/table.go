package hpack

// entry is a field of the dynamic table, its name and value side by side in
// the table's buffer.
type entry struct {
	Judgement
	off, nameLen, valueLen uint32
}

// table is a dynamic table (RFC 7541 2.3.2). Octets are appended to one buffer
// and never wrap, so that a field is one slice; when the buffer, of twice the
// table's size at most, is full, the live half is moved down. Both buffer and
// ring start empty: most connections of a test with many never fill theirs.
type table struct {
	buf   []byte
	ring  []entry // length is a power of two
	next  uint32  // of the entry inserted next, counted from the first ever
	count uint32
	size  uint32 // as RFC 7541 4.1 counts it
	max   uint32
	// version changes with the entries.
	version uint64
}

// at is the i-th entry, 0 the newest, or nil.
func (t *table) at(i uint32) *entry {
	if i >= t.count {
		return nil
	}
	return &t.ring[(t.next-1-i)&uint32(len(t.ring)-1)]
}

func (t *table) name(e *entry) []byte { return t.buf[e.off : e.off+e.nameLen : e.off+e.nameLen] }

func (t *table) value(e *entry) []byte {
	from := e.off + e.nameLen
	return t.buf[from : from+e.valueLen : from+e.valueLen]
}

// resize applies a new maximum (RFC 7541 4.3).
func (t *table) resize(max uint32) {
	t.max = max
	t.version++
	t.evict(max)
}

// evict drops the oldest entries until size is at most limit.
func (t *table) evict(limit uint32) {
	for t.size > limit {
		e := &t.ring[(t.next-t.count)&uint32(len(t.ring)-1)]
		t.size -= e.size
		t.count--
	}
}

// insert adds a field (RFC 7541 4.4). A name that lies in the table is given as
// the dynamic index nameAt too (else -1), and is copied before the entry which
// holds it can be evicted.
func (t *table) insert(name []byte, nameAt int, value []byte, j Judgement) {
	t.version++
	if j.size > t.max {
		t.evict(0) // not an error: the table is emptied and nothing added
		return
	}
	t.reserve(int(j.size - EntryOverhead))
	if nameAt >= 0 {
		name = t.name(t.at(uint32(nameAt))) // may have moved
	}
	e := entry{j, uint32(len(t.buf)), uint32(len(name)), uint32(len(value))}
	t.buf = append(append(t.buf, name...), value...)
	t.evict(t.max - j.size)
	t.push(e)
	t.size += j.size
}

func (t *table) push(e entry) {
	if int(t.count) == len(t.ring) {
		t.growRing()
	}
	t.ring[t.next&uint32(len(t.ring)-1)] = e
	t.next++
	t.count++
}

func (t *table) growRing() {
	bigger := make([]entry, max(8, 2*len(t.ring)))
	for i := t.next - t.count; i != t.next; i++ {
		bigger[i&uint32(len(bigger)-1)] = t.ring[i&uint32(len(t.ring)-1)]
	}
	t.ring = bigger
}

// reserve gives the buffer capacity for need more octets at its end. Before the
// eviction that follows, live octets and need are below twice max together.
func (t *table) reserve(need int) {
	if cap(t.buf)-len(t.buf) >= need {
		return
	}
	dead := uint32(len(t.buf))
	if t.count > 0 {
		dead = t.at(t.count - 1).off
	}
	live := t.buf[dead:]
	if full := 2 * int(t.max); cap(t.buf) < full && cap(t.buf) < 2*(len(live)+need) {
		size := min(full, max(2*(len(live)+need), 256))
		t.buf = append(make([]byte, 0, size), live...)
	} else {
		t.buf = t.buf[:copy(t.buf[:cap(t.buf)], live)]
	}
	for i := range t.count {
		t.at(i).off -= dead
	}
}
