// Package jsonpointer finds values in JSON text by JSON pointers (RFC 6901), in one pass over the text and
// without building anything.
//
// Only text that is valid JSON as a whole (RFC 8259, as strict as encoding/json) has values: whether a member is the
// last of its name, which is the one that counts, is not known before its object ends. Objects and arrays
// may be nested MaxDepth deep.
//
// One thing is added to the RFC: in an array the token -n is the n-th element from the end, -1 being the
// last. The token - alone is the element after the last one, which is never there.
package jsonpointer

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may be nested in a document.
const MaxDepth = 512

// Pointer is a parsed JSON pointer. The zero value points to the whole document. Several goroutines may
// use it at the same time.
type Pointer struct{ tokens []token }

// token names a member in an object. index is the element it names in an array, counted from the end
// when negative.
type token struct {
	name  string
	index int
}

// noIndex is the index of a token that names no element.
const noIndex = math.MinInt

// Parse reads a pointer such as /a/b~1c/0. The empty one is the whole document.
func Parse(s string) (*Pointer, error) {
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

// arrayIndex follows the grammar of RFC 6901 section 4, so without leading zeros, with a minus allowed.
func arrayIndex(name string) int {
	digits := strings.TrimPrefix(name, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && name != "0" {
		return noIndex
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return noIndex
	}
	return n
}
