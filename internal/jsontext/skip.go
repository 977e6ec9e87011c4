package jsontext

import (
	"encoding/binary"
	"math/bits"

	"github.com/h2surge/h2surge/internal/octet"
)

// The functions of this file take the index where something begins. They return the index after it, or -1 if the text
// is not valid JSON. At index -1 they find nothing.

// at returns the octet at i. At the end it returns 0, which valid JSON does not contain.
func at(doc []byte, i int) byte {
	if uint(i) < uint(len(doc)) {
		return doc[i]
	}
	return 0
}

// skipSpace returns the index of the first octet that is not white space.
func skipSpace(doc []byte, i int) int {
	if i < len(doc) && doc[i] <= ' ' {
		return skipBlanks(doc, i)
	}
	return i
}

// skipBlanks is skipSpace. It skips indentation eight octets at a time.
func skipBlanks(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\r' || doc[i] == '\t') {
		if i+8 < len(doc) && binary.LittleEndian.Uint64(doc[i:]) == each(' ') {
			i += 8
		} else {
			i++
		}
	}
	return i
}

// skipValue skips a value that is nested in depth objects and arrays.
func skipValue(doc []byte, i, depth int) int {
	if c := at(doc, i); c == '{' || c == '[' {
		return skipContainer(doc, i, maxDepth-depth)
	}
	return skipScalar(doc, i)
}

// nesting has one bit for each open container: 1 is an object, 0 an array.
type nesting [maxDepth / 64]uint64

func (n *nesting) open(level int, object bool) {
	bit := uint64(1) << (level % 64)
	if n[level/64] &^= bit; object {
		n[level/64] |= bit
	}
}

func (n *nesting) isObject(level int) bool { return n[level/64]>>(level%64)&1 != 0 }

// skipContainer skips an object or an array with at most limit levels. The container itself is the first level.
func skipContainer(doc []byte, i, limit int) int {
	var open nesting
	return open.skip(doc, i, -1, limit)
}

// skip skips the value at i and the rest of the containers that are open, up to level. It returns the index after the
// end of the container of level 0.
func (n *nesting) skip(doc []byte, i, level, limit int) int {
	for {
		switch c := at(doc, i); c {
		case '"':
			i, _ = skipString(doc, i)
		case '{', '[':
			if level++; level >= limit {
				return -1
			}
			n.open(level, c == '{')
			end := c + 2 // '}' is '{'+2 and ']' is '['+2
			if i = skipSpace(doc, i+1); at(doc, i) != end {
				if c == '{' {
					i = skipName(doc, i)
				}
				continue
			}
			level, i = level-1, i+1
		default:
			i = skipScalar(doc, i)
		}
		if i, level = n.next(doc, i, level); level < 0 {
			return i
		}
	}
}

// next continues after a value in a container of level: it returns the index of the next value and the level of its
// container, or the index after the end of the container of level 0 and -1. If the text is not valid, both are -1.
func (n *nesting) next(doc []byte, i, level int) (next, of int) {
	for ; level >= 0 && i >= 0; level, i = level-1, i+1 {
		object := n.isObject(level)
		c := at(doc, i)
		if c <= ' ' {
			i = skipSpace(doc, i)
			c = at(doc, i)
		}
		switch {
		case c == ',' && object:
			if i++; at(doc, i) != '"' {
				i = skipSpace(doc, i)
			}
			return skipName(doc, i), level
		case c == ',':
			return skipSpace(doc, i+1), level
		case c != '}' && object || c != ']' && !object:
			return -1, -1
		}
	}
	return i, -1
}

// skipName skips the name of a member, its colon and the white space after it.
func skipName(doc []byte, i int) int {
	if i, _ = skipString(doc, i); at(doc, i) != ':' {
		return skipColon(doc, i)
	}
	if i++; at(doc, i) <= ' ' {
		return skipSpace(doc, i)
	}
	return i
}

// skipColon skips a colon and the white space around it.
func skipColon(doc []byte, i int) int {
	if i < 0 {
		return -1
	}
	if i = skipSpace(doc, i); at(doc, i) != ':' {
		return -1
	}
	return skipSpace(doc, i+1)
}

func skipScalar(doc []byte, i int) int {
	switch c := at(doc, i); c {
	case '"':
		end, _ := skipString(doc, i)
		return end
	case 't':
		return skipLiteral(doc, i, "true")
	case 'f':
		return skipLiteral(doc, i, "false")
	case 'n':
		return skipLiteral(doc, i, "null")
	}
	return skipNumber(doc, i)
}

func skipLiteral(doc []byte, i int, literal string) int {
	end := i + len(literal)
	if end > len(doc) || string(doc[i:end]) != literal {
		return -1
	}
	return end
}

// skipNumber follows RFC 8259 section 6.
func skipNumber(doc []byte, i int) int {
	if at(doc, i) == '-' {
		i++
	}
	if at(doc, i) == '0' {
		i++
	} else {
		i = skipDigits(doc, i)
	}
	if i >= 0 && at(doc, i) == '.' {
		i = skipDigits(doc, i+1)
	}
	if i >= 0 && at(doc, i)|0x20 == 'e' {
		i++
		if c := at(doc, i); c == '+' || c == '-' {
			i++
		}
		i = skipDigits(doc, i)
	}
	return i
}

// skipDigits skips at least one digit.
func skipDigits(doc []byte, i int) int {
	start := i
	for octet.IsDigit(at(doc, i)) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// each returns the octet c eight times.
func each(c uint64) uint64 { return c * 0x0101010101010101 }

// skipString skips a string. plain is true if the string has neither escapes nor octets above 127.
func skipString(doc []byte, i int) (end int, plain bool) {
	if at(doc, i) != '"' {
		return -1, false
	}
	const window = 16
	for i++; i+window <= len(doc); i += window {
		p := doc[i : i+window]
		n := ordinary(binary.LittleEndian.Uint64(p))
		if n == window/2 {
			if n += ordinary(binary.LittleEndian.Uint64(p[window/2:])); n == window {
				continue
			}
		}
		if i += n; p[n] == '"' {
			return i + 1, true
		}
		break
	}
	return skipOctets(doc, i)
}

// skipOctets skips the rest of a string, whose octets before i are plain.
func skipOctets(doc []byte, i int) (end int, plain bool) {
	plain = true
	for i < len(doc) {
		if i+8 <= len(doc) {
			n := ordinary(binary.LittleEndian.Uint64(doc[i:]))
			if i += n; n == 8 {
				continue
			}
		}
		switch c := doc[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			plain = false
			if i = skipEscape(doc, i); i < 0 {
				return -1, false
			}
		case c < ' ':
			return -1, false
		default:
			plain = plain && c < 0x80
			i++
		}
	}
	return -1, false
}

// ordinary returns how many of the eight octets of x come before the first quote, backslash, control character or octet
// above 127. The first octet is the lowest of x.
func ordinary(x uint64) int {
	// A subtraction sets the high bit of octets that become negative. Its borrow can only set a wrong bit after a right
	// one.
	special := x | (x - each(' ')) | ((x ^ each('"')) - each(1)) | ((x ^ each('\\')) - each(1))
	return bits.TrailingZeros64(special&each(0x80)) / 8
}

// skipEscape skips an escape sequence (RFC 8259 section 7).
func skipEscape(doc []byte, i int) int {
	switch at(doc, i+1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 <= len(doc) && hex4(doc[i+2:i+6]) >= 0 {
			return i + 6
		}
	}
	return -1
}
