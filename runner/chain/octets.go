package chain

import (
	"bytes"
	"encoding/binary"

	"github.com/h2surge/h2surge/internal/octet"
)

// neutralise makes the value that begins at dst[at] harmless in its place; see Head.
func neutralise(dst []byte, at int, place holeKind) []byte {
	switch {
	case place == nameHole:
		return neutraliseName(dst, at)
	case place == tokenHole:
		return neutraliseToken(dst, at)
	case visible(dst[at:]):
		return dst
	case place == targetHole:
		return encodeTarget(dst, at)
	}
	for i, c := range dst[at:] {
		if c == '\r' || c == '\n' || c == 0 {
			dst[at+i] = ' '
		}
	}
	return dst
}

// neutralise2 is neutralise for HTTP/2, where a field value neither begins nor ends in white space
// (RFC 9113 8.2.1).
func neutralise2(dst []byte, at int, place holeKind) []byte {
	dst = neutralise(dst, at, place)
	if place != valueHole {
		return dst
	}
	return append(dst[:at], octet.TrimBlanks(dst[at:])...)
}

// visible says whether b has target octets only, eight at a time: nearly all values do.
func visible(b []byte) bool {
	const each = 0x0101010101010101
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		// The top bit of an octet is set in the first term if it is above 0x7e, in the second if below 0x21;
		// what carries and borrows add comes with a true one.
		if (w|(w+each)|(w-0x21*each)&^w)&(0x80*each) != 0 {
			return false
		}
	}
	return octet.AllVisible(b)
}

// encodeTarget percent-encodes what must not be in dst[at:]. Peers that send such are rare, so
// that it may allocate.
func encodeTarget(dst []byte, at int) []byte {
	raw := bytes.Clone(dst[at:])
	dst = dst[:at]
	for _, c := range raw {
		if octet.IsVisible(c) {
			dst = append(dst, c)
		} else {
			dst = octet.AppendPercent(dst, c)
		}
	}
	return dst
}

// neutraliseName makes a token in lower case of the name that begins at dst[at]. One that would change
// how the message is framed or routed loses its first character.
func neutraliseName(dst []byte, at int) []byte {
	octet.ToLower(dst[at:])
	dst = neutraliseToken(dst, at)
	if reserved(dst[at:]) {
		dst[at] = '-'
	}
	return dst
}

// neutraliseToken makes a token (RFC 9110 5.6.2) of what begins at dst[at].
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
