package book

import "github.com/h2surge/h2surge/runner/bitmap"

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

// slab keeps requests; an index into it is the token that the session carries.
type slab struct {
	all []Request
	ids bitmap.Set
}

func (s *slab) alloc() ID {
	i := s.ids.Take()
	if i == len(s.all) {
		s.all = append(s.all, Request{})
	}
	return ID(i)
}

func (s *slab) release(i ID) {
	s.all[i] = Request{}
	s.ids.Release(int(i))
}

// smallSlab is how many records are kept whatever is in use.
const smallSlab = 4096

// shrink gives memory back when less than an eighth is used, and none of it in the second half. Pointers to
// records become stale.
func (s *slab) shrink() {
	end := s.ids.End()
	if len(s.all) <= smallSlab || s.ids.Len() > len(s.all)/8 || end > len(s.all)/2 {
		return
	}
	s.all = append(make([]Request, 0, max(end, smallSlab/64)), s.all[:end]...)
	s.ids.Trim()
}
