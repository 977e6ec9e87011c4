package jsonpointer

import (
	"encoding/binary"
	"math/bits"
)

// The functions here take the place where something begins, and return the place after it, or -1 when it
// is not valid JSON. They take -1 for a place where nothing is.

// at is the octet at i, or 0, which JSON has nowhere, at the end.
func at(doc []byte, i int) byte {
	if uint(i) < uint(len(doc)) {
		return doc[i]
	}
	return 0
}

// skipSpace returns the place of the first octet that is no white space.
func skipSpace(doc []byte, i int) int {
	for i < len(doc) && doc[i] <= ' ' && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\r' || doc[i] == '\t') {
		i++
	}
	return i
}

// skipValue goes through any value inside depth objects and arrays.
func skipValue(doc []byte, i, depth int) int {
	if c := at(doc, i); c == '{' || c == '[' {
		return skipContainer(doc, i, MaxDepth-depth)
	}
	return skipScalar(doc, i)
}

// nesting remembers which of the open containers are objects: one bit each.
type nesting [MaxDepth / 64]uint64

func (n *nesting) set(level int, object bool) {
	if object {
		n[level/64] |= 1 << (level % 64)
	} else {
		n[level/64] &^= 1 << (level % 64)
	}
}

func (n *nesting) object(level int) bool { return n[level/64]&(1<<(level%64)) != 0 }

// skipContainer goes through an object or an array with at most limit levels, itself being one.
func skipContainer(doc []byte, i, limit int) int {
	var objects nesting
	for level := -1; ; {
		c := at(doc, i)
		if c == '{' || c == '[' {
			if level++; level >= limit {
				return -1
			}
			objects.set(level, c == '{')
			i = skipSpace(doc, i+1)
			if end := c + 2; at(doc, i) != end { // '}' is '{'+2 and ']' is '['+2
				if c == '{' {
					i = skipName(doc, i)
				}
				continue
			}
		} else if i = skipScalar(doc, i); i < 0 {
			return -1
		}
		if i, level = skipEnds(doc, i, level, &objects); level < 0 {
			return i
		}
		if at(doc, i) != ',' {
			return -1
		}
		if i = skipSpace(doc, i+1); objects.object(level) {
			i = skipName(doc, i)
		}
	}
}

// skipEnds goes through white space and the ends of containers behind a value. Below level 0, i is the
// place after the outermost one.
func skipEnds(doc []byte, i, level int, objects *nesting) (next, outer int) {
	for {
		i = skipSpace(doc, i)
		end := byte(']')
		if objects.object(level) {
			end = '}'
		}
		if at(doc, i) != end {
			return i, level
		}
		i++
		if level--; level < 0 {
			return i, level
		}
	}
}

// skipName goes through a member's name and colon, and the white space behind.
func skipName(doc []byte, i int) int {
	end, _ := skipString(doc, i)
	return skipColon(doc, end)
}

// skipColon goes through a colon and the white space around it.
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

// skipDigits wants one digit at least.
func skipDigits(doc []byte, i int) int {
	start := i
	for c := at(doc, i); '0' <= c && c <= '9'; c = at(doc, i) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// each has the octet c eight times.
func each(c uint64) uint64 { return c * 0x0101010101010101 }

// skipString goes through a string. plain is true when it has neither escapes nor octets above 127.
func skipString(doc []byte, i int) (end int, plain bool) {
	if at(doc, i) != '"' {
		return -1, false
	}
	plain = true
	for i++; ; {
		if i = skipPlain(doc, i); i >= len(doc) {
			return -1, false
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
		case c >= 0x80:
			plain = false
			i++
		default:
			i++
		}
	}
}

// skipPlain returns a place at or before the first octet that is a quote, a backslash, a control character or
// above 127. It looks at eight octets at once, and leaves the last seven of the document alone.
func skipPlain(doc []byte, i int) int {
	for i+8 <= len(doc) {
		x := binary.LittleEndian.Uint64(doc[i:])
		// The subtraction sets the high bit of octets that become negative; a borrow makes mistakes only
		// behind, that is in higher bits than, the first of them.
		special := x | (x - each(' ')) | ((x ^ each('"')) - each(1)) | ((x ^ each('\\')) - each(1))
		if special &= each(0x80); special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
		i += 8
	}
	return i
}

// skipEscape goes through a backslash and what belongs to it (RFC 8259 section 7).
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
