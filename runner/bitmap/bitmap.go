// Package bitmap has the indexes of records that are in use. The lowest free one is used first. Records that are used
// one after another are then next to each other in memory, where processors load them ahead, and the end of a slice of
// records is free after a burst.
package bitmap

import (
	"math/bits"
	"slices"

	"github.com/h2surge/h2surge/runner/cacheline"
)

// Set is the indexes in use. New makes one.
type Set struct {
	// used has a bit for each index, and full one for each word of used without a free bit.
	used, full []uint64
	n          int
}

// New returns an empty set. What it changes shares no cache line with anything else.
func New() Set { return Set{used: cacheline.Make[uint64](0), full: cacheline.Make[uint64](0)} }

// Len returns how many indexes are in use.
func (s *Set) Len() int { return s.n }

// Has returns whether an index below End is in use.
func (s *Set) Has(i int) bool { return s.used[i/64]&(1<<(i%64)) != 0 }

// Take returns the lowest free index, which is in use from now on.
func (s *Set) Take() int {
	s.n++
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
	return 64*word + bit
}

// notFull returns the first word of used with a free bit, or the one behind the last.
func (s *Set) notFull() int {
	for i, f := range s.full {
		if f != ^uint64(0) {
			return 64*i + bits.TrailingZeros64(^f)
		}
	}
	return 64 * len(s.full)
}

// Release frees an index that is in use.
func (s *Set) Release(i int) {
	word := i / 64
	s.used[word] &^= 1 << (i % 64)
	s.full[word/64] &^= 1 << (word % 64)
	s.n--
}

// End returns an index behind all that are in use, a multiple of 64.
func (s *Set) End() int {
	words := len(s.used)
	for words > 0 && s.used[words-1] == 0 {
		words--
	}
	return 64 * words
}

// Trim gives back the memory behind End.
func (s *Set) Trim() {
	words := s.End() / 64
	s.used, s.full = slices.Clone(s.used[:words]), slices.Clone(s.full[:(words+63)/64])
}
