package mock

// bodySet counts distinct and repeated POST bodies. It stores 64-bit hashes: with 10 million bodies, the probability of
// a false repetition is 3 in a million.
type bodySet struct {
	slots              []uint64 // open addressing, a power of two, 0 is free
	distinct, repeated uint64
	// untracked counts bodies that came after the set was full and were not in it.
	untracked uint64
}

// maxBodies bounds the set to 256 MiB.
const maxBodies = 1 << 24

// The FNV-1a parameters for 64 bits; a body is hashed as its pieces arrive.
const (
	hashBasis uint64 = 0xcbf29ce484222325
	hashPrime uint64 = 0x100000001b3
)

func hashBytes(h uint64, p []byte) uint64 {
	for _, c := range p {
		h = (h ^ uint64(c)) * hashPrime
	}
	return h
}

func (s *bodySet) add(hash uint64) {
	hash = max(hash, 1) // 0 marks a free slot
	if uint64(len(s.slots)) <= s.distinct*2 && !s.full() {
		s.grow()
	}
	i := s.place(hash)
	switch {
	case s.slots[i] == hash:
		s.repeated++
	case s.full():
		s.untracked++
	default:
		s.slots[i] = hash
		s.distinct++
	}
}

func (s *bodySet) full() bool { return s.distinct >= maxBodies }

// place returns the slot that holds hash, or the free one where it belongs.
func (s *bodySet) place(hash uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	i := hash * 0x9e3779b97f4a7c15 >> 20 & mask
	for s.slots[i] != 0 && s.slots[i] != hash {
		i = (i + 1) & mask
	}
	return i
}

func (s *bodySet) grow() {
	old := s.slots
	s.slots = make([]uint64, max(1024, 2*len(old)))
	for _, h := range old {
		if h != 0 {
			s.slots[s.place(h)] = h
		}
	}
}
