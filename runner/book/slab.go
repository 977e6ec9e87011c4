package book

import "math/bits"

// expiry is the requests in flight of one timeout, in the order in which they were sent, so that
// the next one to expire is the first.
type expiry struct {
	timeout     int64
	first, last ID
}

func (e *expiry) append(s *slab, i ID) {
	r := &s.all[i]
	r.next, r.prev = None, e.last
	if e.last == None {
		e.first = i
	} else {
		s.all[e.last].next = i
	}
	e.last = i
}

func (e *expiry) remove(s *slab, i ID) {
	r := &s.all[i]
	if r.prev == None {
		e.first = r.next
	} else {
		s.all[r.prev].next = r.next
	}
	if r.next == None {
		e.last = r.prev
	} else {
		s.all[r.next].prev = r.prev
	}
}

// slab keeps requests; an index into it is the token the session carries. The lowest free index is used first,
// so that the end of the slab comes free after a burst and can be given back.
type slab struct {
	all []Request
	// used has a bit for each request in use, and full one for each word of used without a free bit.
	used, full []uint64
	inUse      int
}

func (s *slab) alloc() ID {
	s.inUse++
	word := s.notFull()
	if word == len(s.used) {
		s.used = append(s.used, 0)
	}
	if word/64 == len(s.full) {
		s.full = append(s.full, 0)
	}
	bit := bits.TrailingZeros64(^s.used[word])
	s.used[word] |= 1 << bit
	if s.used[word] == ^uint64(0) {
		s.full[word/64] |= 1 << (word % 64)
	}
	i := 64*word + bit
	if i == len(s.all) {
		s.all = append(s.all, Request{})
	}
	return ID(i)
}

// notFull is the first word of used with a free bit, or the one behind the last.
func (s *slab) notFull() int {
	for i, f := range s.full {
		if f != ^uint64(0) {
			return 64*i + bits.TrailingZeros64(^f)
		}
	}
	return 64 * len(s.full)
}

func (s *slab) release(i ID) {
	s.all[i] = Request{}
	word := i / 64
	s.used[word] &^= 1 << (i % 64)
	s.full[word/64] &^= 1 << (word % 64)
	s.inUse--
}

// smallSlab is how many records are kept whatever is in use.
const smallSlab = 4096

// shrink gives memory back when less than an eighth is used, and none of it in the second half. Pointers to
// records become stale.
func (s *slab) shrink() {
	if len(s.all) <= smallSlab || s.inUse > len(s.all)/8 {
		return
	}
	words := len(s.used)
	for words > 0 && s.used[words-1] == 0 {
		words--
	}
	if 64*words > len(s.all)/2 {
		return
	}
	n := max(64*words, smallSlab/64)
	s.all = append(make([]Request, 0, n), s.all[:64*words]...)
	s.used = append([]uint64(nil), s.used[:words]...)
	s.full = append([]uint64(nil), s.full[:(words+63)/64]...)
}
