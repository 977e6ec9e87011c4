// Package pointer evaluates JSON pointers (RFC 6901) on JSON text, without decoding what they
// pass by.
package pointer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Pointer is a parsed JSON pointer. The zero value points to the whole document.
type Pointer struct {
	tokens []token
}

// token names a member of an object, and an element of an array if it has the form of an index.
type token struct {
	name  string
	index int // -1: no index
}

// Parse reads a pointer such as /a/b/0. The empty string is the whole document.
func Parse(s string) (Pointer, error) {
	if s == "" {
		return Pointer{}, nil
	}
	if s[0] != '/' {
		return Pointer{}, fmt.Errorf("JSON pointer %q does not begin with / (RFC 6901 section 3)", s)
	}
	var p Pointer
	for _, part := range strings.Split(s[1:], "/") {
		name, err := unescape(part)
		if err != nil {
			return Pointer{}, fmt.Errorf("JSON pointer %q: %w", s, err)
		}
		p.tokens = append(p.tokens, token{name, arrayIndex(name)})
	}
	return p, nil
}

func unescape(part string) (string, error) {
	for i := range len(part) {
		if part[i] == '~' && (i+1 == len(part) || part[i+1] != '0' && part[i+1] != '1') {
			return "", fmt.Errorf("~ is followed by neither 0 nor 1 (RFC 6901 section 3)")
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~"), nil
}

// arrayIndex follows the grammar of RFC 6901 section 4: no leading zeros, no sign.
func arrayIndex(name string) int {
	if name == "" || len(name) > 1 && name[0] == '0' || name[0] < '0' || name[0] > '9' {
		return -1
	}
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// Find returns the value that the pointer names, as it stands in doc, which must be valid JSON.
// Of members with the same name it is the first.
func (p Pointer) Find(doc []byte) (value []byte, ok bool) {
	at := skipSpace(doc, 0)
	for _, t := range p.tokens {
		if at >= len(doc) {
			return nil, false
		}
		switch doc[at] {
		case '{':
			at = member(doc, at, t.name)
		case '[':
			at = element(doc, at, t.index)
		default:
			return nil, false
		}
		if at < 0 {
			return nil, false
		}
	}
	end := skipValue(doc, at)
	return doc[at:end], end > at
}

// member returns where the value of a member of the object at i begins; -1: there is none.
func member(doc []byte, i int, name string) int {
	i = skipSpace(doc, i+1)
	for i < len(doc) && doc[i] == '"' {
		end := skipString(doc, i)
		hit := keyIs(doc[i:end], name)
		i = skipSpace(doc, end) // the colon
		i = skipSpace(doc, i+1) // the value
		if i >= len(doc) || hit {
			return i
		}
		i = skipSpace(doc, skipValue(doc, i)) // comma or brace
		i = skipSpace(doc, i+1)
	}
	return -1
}

func keyIs(raw []byte, name string) bool {
	if inner := raw[1 : len(raw)-1]; string(inner) == name {
		return !hasBackslash(inner)
	}
	return hasBackslash(raw) && Text(raw) == name
}

func hasBackslash(b []byte) bool {
	for _, c := range b {
		if c == '\\' {
			return true
		}
	}
	return false
}

// element returns where the n-th element of the array at i begins; -1: there is none.
func element(doc []byte, i, n int) int {
	i = skipSpace(doc, i+1)
	if n < 0 || i >= len(doc) || doc[i] == ']' {
		return -1
	}
	for ; n > 0; n-- {
		i = skipSpace(doc, skipValue(doc, i))
		if i >= len(doc) || doc[i] == ']' {
			return -1
		}
		i = skipSpace(doc, i+1)
	}
	return i
}

func skipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the place after the string at i.
func skipString(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// skipValue returns the place after the value at i.
func skipValue(doc []byte, i int) int {
	for depth := 0; i < len(doc); {
		switch doc[i] {
		case '"':
			i = skipString(doc, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			i = skipPlain(doc, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(doc)
}

// skipPlain returns the place after a number, true, false or null.
func skipPlain(doc []byte, i int) int {
	for i < len(doc) {
		switch doc[i] {
		case ',', ':', ']', '}', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// Text returns a value as text: a string without quotes and escapes, anything else as it stands.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return string(value)
	}
	if inner := value[1 : len(value)-1]; !hasBackslash(inner) {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return string(value)
	}
	return s
}

// AppendText appends Text(value) to dst.
func AppendText(dst, value []byte) []byte {
	if len(value) >= 2 && value[0] == '"' {
		if inner := value[1 : len(value)-1]; !hasBackslash(inner) {
			return append(dst, inner...)
		}
		return append(dst, Text(value)...)
	}
	return append(dst, value...)
}
