package h1

import (
	"encoding/binary"
	"math/bits"

	"github.com/h2surge/h2surge/internal/octet"
)

const ones, tops = 0x0101010101010101, 0x8080808080808080

// lineEnd finds the end of the line that p[i] is in: p[i:end] is its content,
// the next line begins at next. next is 0 when the line is cut, and -1 when it
// has a NUL or a CR without LF. A LF alone ends a line too (RFC 9112 2.2).
//
// Line ends and what must not be in a line are all below 14, and little else of
// a head is: one pass of eight octets a step finds both.
func lineEnd(p []byte, i int) (end, next int) {
	for ; ; i++ {
		i = below14(p, i)
		switch {
		case i == len(p) || p[i] == '\r' && i+1 == len(p):
			return 0, 0
		case p[i] == '\r' && p[i+1] == '\n':
			return i, i + 2
		case p[i] == '\n':
			return i, i + 1
		case p[i] == '\r' || p[i] == 0:
			return 0, -1
		}
	}
}

// below14 is the first octet from p[i] on that is below 14, or len(p).
func below14(p []byte, i int) int {
	for ; i+8 <= len(p); i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		// The lowest top bit that is set is that of an octet below 14: borrows
		// make false alarms only above a true one.
		if below := (w - 14*ones) &^ w & tops; below != 0 {
			return i + bits.TrailingZeros64(below)>>3
		}
	}
	for i < len(p) && p[i] >= 14 {
		i++
	}
	return i
}

// common is how many octets a and b, which are of one length, have in common at
// their beginnings.
func common(a, b []byte) int {
	b = b[:len(a)]
	i := 0
	for ; i+8 <= len(a); i += 8 {
		if differ := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); differ != 0 {
			return i + bits.TrailingZeros64(differ)>>3
		}
	}
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i
}

// foldsTo returns true if a token, in any case, is word. word has lower-case
// letters and hyphens only, which no other octet of a token folds to.
func foldsTo(token []byte, word string) bool {
	if len(token) != len(word) {
		return false
	}
	i := 0
	for ; i+8 <= len(token); i += 8 {
		if binary.LittleEndian.Uint64(token[i:])|0x20*ones != word8(word[i:]) {
			return false
		}
	}
	for ; i < len(token); i++ {
		if token[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

// word8 is the first eight octets of s, little-endian; the compiler makes one
// load of it.
func word8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// tokenEnd is the end of the token that begins at p[i]. Most names of
// fields have letters and hyphens only, so eight of those are one step.
func tokenEnd(p []byte, i int) int {
	for i+8 <= len(p) {
		w := binary.LittleEndian.Uint64(p[i:])
		low := (w | 0x20*ones) &^ tops
		// The top bit of an octet of fromA says that it is 'a' or above, and
		// so on; low has no top bits, so nothing is carried over.
		fromA, aboveZ := low+(0x80-'a')*ones, low+(0x80-'z'-1)*ones
		notHyphen := (w&^tops ^ '-'*ones) + 0x7f*ones // w: CR would fold to it
		if other := (^fromA&notHyphen | aboveZ | w) & tops; other != 0 {
			i += bits.TrailingZeros64(other) >> 3
			if p[i] == ':' {
				return i
			}
			break
		}
		i += 8
	}
	for i < len(p) && octet.IsTokenOctet(p[i]) {
		i++
	}
	return i
}
