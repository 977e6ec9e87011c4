package chain

import (
	"bytes"
	"encoding/binary"

	"github.com/h2surge/h2surge/internal/octet"
)

// neutralise replaces the octets of the value dst[at:] that its place does not allow; see Head.
func neutralise(dst []byte, at int, place placement) []byte {
	switch {
	case place == inName:
		return neutraliseName(dst, at)
	case place == inToken:
		return neutraliseToken(dst, at)
	case place == inTarget:
		return encodeTarget(dst, at)
	case visible(dst[at:]):
		return dst
	}
	for i, c := range dst[at:] {
		if c == '\r' || c == '\n' || c == 0 {
			dst[at+i] = ' '
		}
	}
	return dst
}

// neutralise2 is neutralise for HTTP/2, where a field value must not begin or end with white space (RFC 9113 8.2.1).
func neutralise2(dst []byte, at int, place placement) []byte {
	dst = neutralise(dst, at, place)
	if place != inValue {
		return dst
	}
	return append(dst[:at], octet.TrimBlanks(dst[at:])...)
}

// visible is octet.AllVisible with eight octets at a time.
func visible(b []byte) bool {
	const each = 0x0101010101010101
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		// The first terms set the top bit of an octet above 0x7e, the last one that of an octet below 0x21. A carry or
		// borrow can only set a wrong bit next to a right one.
		if (w|(w+each)|(w-0x21*each)&^w)&(0x80*each) != 0 {
			return false
		}
	}
	return octet.AllVisible(b)
}

// isPlain reports whether neutralise changes nothing of a value in a request target or a field value.
func isPlain(b []byte) bool { return visible(b) && bytes.IndexByte(b, '#') < 0 }

// encodeTarget percent-encodes the octets of dst[at:] that a request target must not have. A # would begin a fragment
// (RFC 9112 3.2). It allocates memory only if there are such octets, because they are rare.
func encodeTarget(dst []byte, at int) []byte {
	if isPlain(dst[at:]) {
		return dst
	}
	raw := bytes.Clone(dst[at:])
	dst = dst[:at]
	for _, c := range raw {
		if octet.IsVisible(c) && c != '#' {
			dst = append(dst, c)
		} else {
			dst = octet.AppendPercent(dst, c)
		}
	}
	return dst
}

// neutraliseName changes the name dst[at:] to a token in lower case. It replaces the first character of a reserved
// name.
func neutraliseName(dst []byte, at int) []byte {
	octet.ToLower(dst[at:])
	dst = neutraliseToken(dst, at)
	if reserved(dst[at:]) {
		dst[at] = '-'
	}
	return dst
}

// neutraliseToken changes dst[at:] to a token (RFC 9110 5.6.2).
func neutraliseToken(dst []byte, at int) []byte {
	if len(dst) == at {
		return append(dst, '-')
	}
	for i, c := range dst[at:] {
		if !octet.IsTokenOctet(c) {
			dst[at+i] = '-'
		}
	}
	return dst
}

// reserved names are set by the engine, or belong to a connection (RFC 9110 7.6.1, RFC 9113 8.2.2).
func reserved(name []byte) bool {
	switch string(name) {
	case "host", "content-length", "te":
		return true
	}
	return ofConnection(name)
}

func ofConnection(name []byte) bool {
	switch string(name) {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	}
	return false
}
