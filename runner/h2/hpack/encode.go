package hpack

import xhpack "golang.org/x/net/http2/hpack"

// Indexing is how a literal field asks to be treated by the peer's table.
type Indexing uint8

const (
	// Incremental adds the field to the table (RFC 7541 6.2.1).
	Incremental Indexing = iota
	// Without leaves the table alone (RFC 7541 6.2.2).
	Without
	// Never is Without, and binds proxies to it too (RFC 7541 6.2.3).
	Never
)

// AppendInt appends v with a prefix of prefixBits (1 to 8) bits; first holds
// the bits above the prefix (RFC 7541 5.1).
func AppendInt(dst []byte, first byte, prefixBits uint8, v uint64) []byte {
	limit := uint64(1)<<prefixBits - 1
	if v < limit {
		return append(dst, first|byte(v))
	}
	dst = append(dst, first|byte(limit))
	for v -= limit; v >= 0x80; v >>= 7 {
		dst = append(dst, 0x80|byte(v))
	}
	return append(dst, byte(v))
}

// AppendIndexed appends a field by its index (RFC 7541 6.1).
func AppendIndexed(dst []byte, index int) []byte {
	return AppendInt(dst, 0x80, 7, uint64(index))
}

// AppendLiteral appends a field literally, its name by nameIndex unless that
// is 0 (RFC 7541 6.2). Strings are Huffman coded where that is shorter.
func AppendLiteral(dst []byte, ind Indexing, nameIndex int, name, value string) []byte {
	return appendShorter(AppendLiteralPrefix(dst, ind, nameIndex, name), value)
}

// AppendLiteralPrefix appends all of a literal field but its value, which the
// caller appends with AppendString.
func AppendLiteralPrefix(dst []byte, ind Indexing, nameIndex int, name string) []byte {
	switch ind {
	case Incremental:
		dst = AppendInt(dst, 0x40, 6, uint64(nameIndex))
	case Never:
		dst = AppendInt(dst, 0x10, 4, uint64(nameIndex))
	default:
		dst = AppendInt(dst, 0x00, 4, uint64(nameIndex))
	}
	if nameIndex == 0 {
		dst = appendShorter(dst, name)
	}
	return dst
}

// AppendString appends a raw string (RFC 7541 5.2): for values that change
// with every request the few octets saved are not worth the coding.
func AppendString(dst []byte, s []byte) []byte {
	dst = AppendInt(dst, 0, 7, uint64(len(s)))
	return append(dst, s...)
}

func appendShorter(dst []byte, s string) []byte { return AppendShorter(dst, 0, 7, s) }

// AppendShorter appends a string, Huffman coded if that is shorter. The length has a prefix of prefixBits bits. The bit
// above it says whether the string is coded, and first has the bits above that (RFC 7541 5.2, RFC 9204 4.1.2).
func AppendShorter(dst []byte, first byte, prefixBits uint8, s string) []byte {
	if n := xhpack.HuffmanEncodeLength(s); n < uint64(len(s)) {
		return xhpack.AppendHuffmanString(AppendInt(dst, first|1<<prefixBits, prefixBits, n), s)
	}
	dst = AppendInt(dst, first, prefixBits, uint64(len(s)))
	return append(dst, s...)
}

// AppendTableSizeUpdate appends a dynamic table size update, which is allowed
// at the beginning of a block only (RFC 7541 6.3).
func AppendTableSizeUpdate(dst []byte, size uint32) []byte {
	return AppendInt(dst, 0x20, 5, uint64(size))
}
