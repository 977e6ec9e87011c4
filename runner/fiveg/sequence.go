package fiveg

import (
	"encoding/binary"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// sqnSize is the length in octets of SQN and AK.
const sqnSize = 6

// Sequences has the sequence numbers that the USIMs of a worker's subscribers have accepted (TS 33.102 C.2.1). The
// subscribers have numbers from 0. A subscriber needs 8 octets for each value of IND, from its first challenge on.
//
// The USIMs begin with SQN 0. So a worker that gets the subscribers of another one accepts the next number of each.
type Sequences struct {
	indBits uint
	// delta is the maximum distance to the highest number; 0: there is no maximum.
	delta uint64
	pages map[int64]*page
}

// page has the arrays of adjacent subscribers. An array is never on two pages, because its size is a divisor of the
// size of a page.
type page [1 << pageBits]uint64

const pageBits = 9

// NewSequences returns the sequence numbers of USIMs that have had no challenge.
func NewSequences(in rv.SQN) *Sequences {
	return &Sequences{indBits: uint(in.IndBits), delta: uint64(in.Delta), pages: map[int64]*page{}}
}

// array returns the numbers that a subscriber has accepted, by IND.
func (s *Sequences) array(subscriber int64) []uint64 {
	first := subscriber << s.indBits
	p := s.pages[first>>pageBits]
	if p == nil {
		p = new(page)
		s.pages[first>>pageBits] = p
	}
	at := first & (1<<pageBits - 1)
	return p[at : at+1<<s.indBits]
}

// accept reports whether SQN is fresh. If it is not, accept returns SQN_MS, the highest accepted number.
func (s *Sequences) accept(subscriber int64, sqn uint64) (highest uint64, fresh bool) {
	array := s.array(subscriber)
	ind := sqn & (1<<s.indBits - 1)
	fresh = sqn>>s.indBits > array[ind]>>s.indBits
	if !fresh || s.delta > 0 {
		for _, accepted := range array {
			highest = max(highest, accepted)
		}
	}
	if s.delta > 0 && sqn>>s.indBits > highest>>s.indBits+s.delta {
		fresh = false
	}
	if fresh {
		array[ind] = sqn
	}
	return highest, fresh
}

func sqnOf(b [sqnSize]byte) uint64 {
	var wide [8]byte
	copy(wide[8-sqnSize:], b[:])
	return binary.BigEndian.Uint64(wide[:])
}

func octetsOf(sqn uint64) (b [sqnSize]byte) {
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], sqn)
	copy(b[:], wide[8-sqnSize:])
	return b
}
