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
	for i < len(doc) && doc[i] <= ' ' && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\r' || doc[i] == '\t') {
		i++
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

// end returns the octet that ends a container.
func (n *nesting) end(level int) byte {
	if n[level/64]>>(level%64)&1 != 0 {
		return '}'
	}
	return ']'
}

// skipContainer skips an object or an array with at most limit levels. The container itself is the first level.
func skipContainer(doc []byte, i, limit int) int {
	var open nesting
	var end byte
	for level := -1; ; {
		c := at(doc, i)
		if c == '{' || c == '[' {
			if level++; level >= limit {
				return -1
			}
			open.open(level, c == '{')
			i, end = skipSpace(doc, i+1), c+2 // '}' is '{'+2 and ']' is '['+2
			if at(doc, i) != end {
				i = skipToValue(doc, i, end)
				continue
			}
		} else if i = skipScalar(doc, i); i < 0 {
			return -1
		}
		for i = skipSpace(doc, i); at(doc, i) != ','; i = skipSpace(doc, i) {
			if at(doc, i) != end {
				return -1
			}
			i++
			if level--; level < 0 {
				return i
			}
			end = open.end(level)
		}
		i = skipToValue(doc, skipSpace(doc, i+1), end)
	}
}

// skipToValue skips the name of a member if the container is an object, which ends with }.
func skipToValue(doc []byte, i int, end byte) int {
	if end == '}' {
		return skipName(doc, i)
	}
	return i
}

// skipName skips the name of a member, its colon and the white space after it.
func skipName(doc []byte, i int) int {
	end, _ := skipString(doc, i)
	return skipColon(doc, end)
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
	plain = true
	for i++; i < len(doc); {
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
