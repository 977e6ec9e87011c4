package qpack

import "github.com/h2surge/h2surge/runner/h2/hpack"

// Prefix begins each header block: it needs no entry of the dynamic table (RFC 9204 4.5.1).
const Prefix = "\x00\x00"

// NameBits and NameFirst are the prefix of the length of a name that is a literal, and the bits above it. A name that
// is not Huffman coded follows its length (RFC 9204 4.5.6).
const (
	NameBits  = 3
	NameFirst = 0x20
)

// AppendIndexed appends a field of the static table (RFC 9204 4.5.2). index is a number of StaticIndex.
func AppendIndexed(dst []byte, index int) []byte {
	return hpack.AppendInt(dst, 0xc0, 6, uint64(index-1))
}

// AppendLiteral appends a field literally, its name by the static table unless nameIndex is 0 (RFC 9204 4.5.4, 4.5.6).
// Strings are Huffman coded where that is shorter.
func AppendLiteral(dst []byte, ind hpack.Indexing, nameIndex int, name, value string) []byte {
	return hpack.AppendShorter(AppendLiteralPrefix(dst, ind, nameIndex, name), 0, 7, value)
}

// AppendLiteralPrefix appends all of a literal field but its value, a string as in HPACK. Only hpack.Never changes the
// result, because there is no dynamic table.
func AppendLiteralPrefix(dst []byte, ind hpack.Indexing, nameIndex int, name string) []byte {
	never := byte(0)
	if ind == hpack.Never {
		never = 1
	}
	if nameIndex == 0 {
		return hpack.AppendShorter(dst, NameFirst|never<<4, NameBits, name)
	}
	return hpack.AppendInt(dst, 0x50|never<<5, 4, uint64(nameIndex-1))
}
