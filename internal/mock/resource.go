package mock

import (
	"math/bits"
	"math/rand/v2"

	"github.com/h2surge/h2surge/internal/octet"
)

// A resource id is 16 lower-case hexadecimal digits: a 40-bit serial number and a 24-bit checksum of it. So the server
// recognizes its ids without a lookup. Another last segment of this form passes the check once in 16 million. The
// serial numbers of a run start at a random number, so an id of an earlier run does not exist.
const (
	idLen      = 16
	serialBits = 40
	checkBits  = 24
)

func checkOf(serial uint64) uint64 {
	x := serial * 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x >> (64 - checkBits)
}

func appendID(dst []byte, serial uint64) []byte {
	return octet.AppendHex(dst, serial<<checkBits|checkOf(serial), idLen)
}

// parseID returns the serial number in a path whose last segment has the form of an id.
func parseID(path []byte) (serial uint64, ok bool) {
	at := len(path) - idLen
	if at < 1 || path[at-1] != '/' {
		return 0, false
	}
	var v uint64
	var bad uint8
	for _, c := range path[at:] {
		n := octet.HexDigit(c)
		bad |= n | ^c&0x20 // letters must be in lower case
		v = v<<4 | uint64(n)
	}
	if bad >= octet.NoDigit {
		return 0, false
	}
	serial = v >> checkBits
	return serial, v&(1<<checkBits-1) == checkOf(serial)
}

// store is the set of existing resources. It has one bit for each resource that was created, in pages. It frees a page
// when all resources of the page are deleted.
type store struct {
	first uint64 // serial number of the first resource of this run
	next  uint64 // of the next one, as a distance from first
	pages []*page
	held  int // pages not nil
	live  uint64
}

type page struct {
	bit  [pageSize / 64]uint64
	live int
}

const (
	pageSize = 1 << 16
	// maxPages bounds the store: 8 KiB a page, 512 MiB for all, up to 4 G resources at a time.
	maxPages = 1 << 16
	// maxSerials is how many resources one run may create.
	maxSerials = 1 << (serialBits - 1)
)

// newStore begins its serial numbers at a random one, so that ids of another run do not exist
// in this one.
func newStore() *store {
	return &store{first: rand.Uint64N(1 << (serialBits - 1))}
}

// create returns the serial number of a new resource; ok is false when the store is full.
func (s *store) create() (serial uint64, ok bool) {
	at := s.next / pageSize
	if at == uint64(len(s.pages)) {
		if s.held == maxPages || s.next >= maxSerials {
			return 0, false
		}
		s.pages = append(s.pages, &page{})
		s.held++
	}
	p := s.pages[at]
	p.bit[s.next%pageSize/64] |= 1 << (s.next % 64)
	p.live++
	s.live++
	s.next++
	return s.first + s.next - 1, true
}

func (s *store) find(serial uint64) (p *page, word *uint64, mask uint64) {
	n := serial - s.first
	if serial < s.first || n >= s.next {
		return nil, nil, 0
	}
	if p = s.pages[n/pageSize]; p == nil {
		return nil, nil, 0
	}
	return p, &p.bit[n%pageSize/64], bits.RotateLeft64(1, int(n%64))
}

func (s *store) exists(serial uint64) bool {
	p, word, mask := s.find(serial)
	return p != nil && *word&mask != 0
}

// remove reports whether the resource existed.
func (s *store) remove(serial uint64) bool {
	p, word, mask := s.find(serial)
	if p == nil || *word&mask == 0 {
		return false
	}
	*word &^= mask
	p.live--
	s.live--
	if at := (serial - s.first) / pageSize; p.live == 0 && at != s.next/pageSize { // nor will any be added
		s.pages[at] = nil
		s.held--
	}
	return true
}
