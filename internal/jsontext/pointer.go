// Package jsontext finds values in JSON text by JSON pointers (RFC 6901), in one pass over the text and without
// allocations, and by JSONPath (RFC 9535). It escapes and unescapes strings.
//
// A pointer finds nothing in text that is not valid JSON as a whole (RFC 8259, as strict as encoding/json). If an
// object has several members of one name, a pointer finds the last. Objects and arrays can be nested maxDepth deep.
//
// Unlike in the RFC, the token -n in an array is the n-th element from the end: -1 is the last. As in the RFC, the
// token - is the element after the last, which does not exist.
package jsontext

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep objects and arrays may be nested in a document.
const maxDepth = 512

// Pointer is a parsed JSON pointer. The zero value points to the whole document. Several goroutines may
// use it at the same time.
type Pointer struct{ tokens []token }

// token is the name of a member of an object. index is the element of an array that it refers to; a negative index
// counts from the end.
type token struct {
	name  string
	index int
}

// noIndex is the index of a token that refers to no element.
const noIndex = math.MinInt

// ParsePointer reads a pointer such as /a/b~1c/0. The empty one is the whole document.
func ParsePointer(s string) (*Pointer, error) {
	var p Pointer
	if s == "" {
		return &p, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("JSON pointer %q does not begin with / (RFC 6901 section 3)", s)
	}
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("JSON pointer %q is not UTF-8", s)
	}
	for part := range strings.SplitSeq(s[1:], "/") {
		name, err := unescapeToken(part)
		if err != nil {
			return nil, fmt.Errorf("JSON pointer %q: %w", s, err)
		}
		p.tokens = append(p.tokens, token{name, arrayIndex(name)})
	}
	return &p, nil
}

var tokenEscapes = strings.NewReplacer("~0", "~", "~1", "/")

func unescapeToken(part string) (string, error) {
	for rest := part; ; {
		_, after, found := strings.Cut(rest, "~")
		if !found {
			return tokenEscapes.Replace(part), nil
		}
		if after == "" || after[0] != '0' && after[0] != '1' {
			return "", errors.New("~ is followed by neither 0 nor 1 (RFC 6901 section 3)")
		}
		rest = after[1:]
	}
}

// arrayIndex follows the grammar of RFC 6901 section 4, which has no leading zeros, and allows a minus.
func arrayIndex(name string) int {
	n, err := strconv.Atoi(name)
	if err != nil || strconv.Itoa(n) != name { // 01, +1, -0
		return noIndex
	}
	return n
}
