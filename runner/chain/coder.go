package chain

import (
	"github.com/h2surge/h2surge/runner/h2/hpack"
	"github.com/h2surge/h2surge/runner/h3/qpack"
)

// coder is a compression of header blocks. Its methods call functions by name, so that strings on the stack stay there.
type coder uint8

const (
	// hpackCoder is the compression of HTTP/2 (RFC 7541).
	hpackCoder coder = iota
	// qpackCoder is the compression of HTTP/3 without a dynamic table (RFC 9204).
	qpackCoder
)

// neverName is the bit of a field whose name is a literal and which must never be indexed (RFC 7541 6.2.3, RFC 9204
// 4.5.6).
const neverName = 0x10

// prefix begins each block. beforeName is before the length of a name that is a literal.
var prefix, beforeName = [...]string{hpackCoder: "", qpackCoder: qpack.Prefix}, [...]string{hpackCoder: "\x00", qpackCoder: ""}

// hasTable returns whether the peer may have a dynamic table.
func (c coder) hasTable() bool { return c == hpackCoder }

// staticIndex returns the numbers of a field and of a name in the static table; 0: they are not there.
func (c coder) staticIndex(name, value string) (full, nameOnly int) {
	if c == qpackCoder {
		return qpack.StaticIndex(name, value)
	}
	return hpack.StaticIndex(name, value)
}

func (c coder) appendIndexed(dst []byte, index int) []byte {
	if c == qpackCoder {
		return qpack.AppendIndexed(dst, index)
	}
	return hpack.AppendIndexed(dst, index)
}

func (c coder) appendLiteral(dst []byte, ind hpack.Indexing, nameIndex int, name, value string) []byte {
	if c == qpackCoder {
		return qpack.AppendLiteral(dst, ind, nameIndex, name, value)
	}
	return hpack.AppendLiteral(dst, ind, nameIndex, name, value)
}

func (c coder) appendLiteralPrefix(dst []byte, ind hpack.Indexing, nameIndex int, name string) []byte {
	if c == qpackCoder {
		return qpack.AppendLiteralPrefix(dst, ind, nameIndex, name)
	}
	return hpack.AppendLiteralPrefix(dst, ind, nameIndex, name)
}

// cookieBegin is the begin of the field with the cookies of an instance.
var cookieBegin = [...][]byte{hpackCoder: hpackCoder.cookie(), qpackCoder: qpackCoder.cookie()}

func (c coder) cookie() []byte {
	_, i := c.staticIndex("cookie", "")
	return c.appendLiteralPrefix(nil, hpack.Never, i, "cookie")
}

// appendCookie appends the cookie field, unless it is empty.
func (c coder) appendCookie(dst, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, cookieBegin[c]...)
	at := len(dst)
	dst = append(append(dst, 0), value...)
	return closeString(neutralise2(dst, at+1, inValue), at)
}

// appendField appends a field by its index in the static table, or else as a literal.
func (c coder) appendField(dst []byte, name string, value []byte, place placement) []byte {
	const longest = 32 // octets of a value in the static table; longer ones are literals
	known := ""
	if len(value) <= longest {
		known = string(value)
	}
	full, index := c.staticIndex(name, known)
	if full > 0 && len(known) == len(value) {
		return c.appendIndexed(dst, full)
	}
	indexing := hpack.Without
	if secret(name) {
		indexing = hpack.Never
	}
	if index > 0 {
		dst = c.appendLiteralPrefix(dst, indexing, index, "")
	} else {
		begin := len(dst)
		dst = append(dst, beforeName[c]...)
		at := len(dst)
		dst = c.closeName(neutralise2(append(append(dst, 0), name...), at+1, inToken), at)
		if indexing == hpack.Never {
			dst[begin] |= neverName
		}
	}
	at := len(dst)
	dst = append(append(dst, 0), value...)
	return closeString(neutralise2(dst, at+1, place), at)
}

// closeString sets the length of the string that begins after dst[at]. One octet is reserved for the length, enough for
// less than 127 (RFC 7541 5.1, 5.2).
func closeString(dst []byte, at int) []byte { return closeLength(dst, at, 0, 7) }

// closeName is closeString for a name that is a literal.
func (c coder) closeName(dst []byte, at int) []byte {
	if c == qpackCoder {
		return closeLength(dst, at, qpack.NameFirst, qpack.NameBits)
	}
	return closeString(dst, at)
}

// closeLength is closeString for a length with a prefix of bits bits, above which the octet is that of first.
func closeLength(dst []byte, at int, first byte, bits uint8) []byte {
	n := len(dst) - at - 1
	if n < 1<<bits-1 {
		dst[at] = first | byte(n)
		return dst
	}
	var buf [10]byte
	prefix := hpack.AppendInt(buf[:0], first, bits, uint64(n))
	dst = append(dst, prefix[1:]...)
	copy(dst[at+len(prefix):], dst[at+1:at+1+n])
	copy(dst[at:], prefix)
	return dst
}
