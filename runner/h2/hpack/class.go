package hpack

import (
	"encoding/binary"

	"github.com/h2surge/h2surge/internal/octet"
)

// Class is what a field means to the framing of a message. It is found out
// once, when a field enters the dynamic table, and costs nothing each time the
// field is referred to.
type Class uint8

const (
	// Regular is any field without a meaning to the framing.
	Regular Class = iota
	// ContentLength is content-length with a well-formed value.
	ContentLength
	// Malformed is a field which RFC 9113 8.2.1 or 8.2.2 forbids: a bad octet
	// in name or value, an upper-case name, a connection-specific field.
	Malformed

	// The pseudo-header fields (RFC 9113 8.3); all are above Malformed.

	Status
	Method
	Scheme
	Authority
	Path
	OtherPseudo
)

// te is the class of the name "te" alone; with its value it becomes Regular or
// Malformed (RFC 9113 8.2.2).
const te Class = 255

// Pseudo returns true for a pseudo-header field.
func (c Class) Pseudo() bool { return c >= Status }

// classOfName returns the class of a name, without the value (RFC 9113 8.2.1, 8.2.2, 8.3).
func classOfName(name []byte) Class {
	if len(name) == 0 {
		return Malformed
	}
	if name[0] == ':' {
		return classOfPseudo(name)
	}
	for _, b := range name {
		if !nameOctet[b] {
			return Malformed
		}
	}
	switch string(name) {
	case "content-length":
		return ContentLength
	case "te":
		return te
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return Malformed
	}
	return Regular
}

func classOfPseudo(name []byte) Class {
	switch string(name) {
	case ":status":
		return Status
	case ":method":
		return Method
	case ":scheme":
		return Scheme
	case ":authority":
		return Authority
	case ":path":
		return Path
	}
	return OtherPseudo
}

// nameOctet is true for the octets that a name may have: RFC 9113 8.2.1 forbids
// controls, space, upper case, all above 0x7e, and the colon after the first
// octet. (RFC 9110's token is narrower; what a proxy would pass we pass.)
var nameOctet = func() (t [256]bool) {
	for b := 0x21; b < 0x7f; b++ {
		t[b] = b != ':' && (b < 'A' || b > 'Z')
	}
	return t
}()

// judge makes the class of a field from its name's class and its value, with
// the number that a status or a content-length stands for.
func judge(kind Class, value []byte) (Class, int64) {
	if !validValue(value) {
		return Malformed, 0
	}
	switch kind {
	case Status:
		return judgeStatus(value)
	case ContentLength:
		if n := octet.ContentLength(value); n >= 0 {
			return ContentLength, n
		}
		return Malformed, 0
	case te:
		if string(value) != "trailers" {
			return Malformed, 0
		}
		return Regular, 0
	}
	return kind, 0
}

// judgeStatus takes three digits, 100 and up (RFC 9113 8.3.2, RFC 9110 15).
func judgeStatus(v []byte) (Class, int64) {
	if len(v) != 3 || v[0] < '1' || v[0] > '9' || v[1]-'0' > 9 || v[2]-'0' > 9 {
		return Malformed, 0
	}
	return Status, int64(v[0]-'0')*100 + int64(v[1]-'0')*10 + int64(v[2]-'0')
}

// validValue returns true if a value has no NUL, CR or LF, and no white space at
// either end (RFC 9113 8.2.1). Eight octets a step: a value that no
// one captures costs little more than its length.
func validValue(v []byte) bool {
	if len(v) == 0 {
		return true
	}
	if octet.IsBlank(v[0]) || octet.IsBlank(v[len(v)-1]) {
		return false
	}
	for len(v) >= 8 {
		w := binary.LittleEndian.Uint64(v)
		if hasBelow14(w) && !validOctets(v[:8]) {
			return false
		}
		v = v[8:]
	}
	return validOctets(v)
}

func validOctets(v []byte) bool {
	for _, b := range v {
		if b == 0 || b == '\r' || b == '\n' {
			return false
		}
	}
	return true
}

// hasBelow14 returns true if an octet of w is below 14, and so may be NUL, LF or
// CR. An octet's top bit is set by (octet - 14) without its own top bit;
// borrows only make false alarms, and those above the first true one.
func hasBelow14(w uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (w-14*ones)&^w&tops != 0
}
