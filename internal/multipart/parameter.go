package multipart

import (
	"bytes"
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// boundaryOf returns the boundary parameter of a Content-Type (RFC 2045 5.1).
func boundaryOf(contentType []byte) ([]byte, error) {
	const multipart = "multipart/"
	contentType = bytes.TrimLeft(contentType, " \t")
	if len(contentType) < len(multipart) || !octet.EqualFold(contentType[:len(multipart)], multipart) {
		return nil, ErrNotMultipart
	}
	_, rest, _ := bytes.Cut(contentType, []byte(";"))
	for len(rest) > 0 {
		var name, value []byte
		name, value, rest = parameter(rest)
		if octet.EqualFold(name, "boundary") {
			if !isBoundary(value) {
				return nil, ErrBoundary
			}
			return value, nil
		}
	}
	return nil, ErrBoundary
}

// parameter returns the first parameter of a list, without quotation marks, and the parameters after it. A value with
// escaped characters keeps its backslashes: a boundary has none of them.
func parameter(list []byte) (name, value, rest []byte) {
	name, value, _ = bytes.Cut(list, []byte("="))
	name = bytes.TrimSpace(name)
	if end := bytes.IndexByte(name, ';'); end >= 0 { // a parameter without a value
		_, rest, _ = bytes.Cut(list, []byte(";"))
		return bytes.TrimSpace(name[:end]), nil, rest
	}
	if len(value) == 0 || value[0] != '"' {
		value, rest, _ = bytes.Cut(value, []byte(";"))
		return name, bytes.TrimSpace(value), rest
	}
	end := 1
	for end < len(value) && value[end] != '"' {
		if value[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(value))
	quoted := value[1:end]
	_, rest, _ = bytes.Cut(value[end:], []byte(";"))
	return name, quoted, rest
}

// isBoundary checks the grammar of RFC 2046 5.1.1.
func isBoundary(b []byte) bool {
	if len(b) == 0 || len(b) > maxBoundary || b[len(b)-1] == ' ' {
		return false
	}
	for _, c := range b {
		if !octet.IsLetter(c) && !octet.IsDigit(c) && strings.IndexByte("'()+_,-./:=? ", c) < 0 {
			return false
		}
	}
	return true
}
