package hpack

import (
	"encoding/binary"
	"sort"
	"strings"

	xhpack "golang.org/x/net/http2/hpack"
)

// The code of RFC 7541 appendix B: no code is shorter than 5 or longer than 30
// bits, and the common octets have at most 8, most of them 5 or 6. So a look-up
// of 12 bits decodes two symbols mostly (a look-up waits for the one before it:
// two at a time halved the time of a location), and the rest are found
// by length, as the code is canonical.
const (
	minCodeBits = 5
	maxCodeBits = 30
	pairBits    = 12
)

// pair is what pairBits bits begin with: bits 0-7 the length of the codes, 8-15
// and 16-23 the symbols, 24 and up their number; 0: a code longer than 8 bits.
type pair uint32

func (p pair) bits() uint { return uint(p & 63) }

// shortCode is the symbol whose code begins these 8 bits; bits 0: a longer code.
type shortCode struct{ sym, bits uint8 }

// codesOf are the codes of one length: first..first+len(syms), left-aligned
// limit beyond the last.
type codesOf struct {
	first uint32
	limit uint64
	bits  uint8
	syms  []byte
}

var (
	shortCodes, longCodes = buildHuffman()
	pairs                 = buildPairs()
)

type huffmanCode struct {
	code uint32
	bits uint8
	sym  byte
}

// huffmanCodes reads the code out of x/net's encoder, so that there is one
// copy of appendix B in the program: eight times a symbol is a whole number of
// octets, as many as its code has bits.
func huffmanCodes() []huffmanCode {
	all := make([]huffmanCode, 256)
	for i := range all {
		enc := xhpack.AppendHuffmanString(nil, strings.Repeat(string([]byte{byte(i)}), 8))
		bits := uint8(len(enc))
		all[i] = huffmanCode{binary.BigEndian.Uint32(enc) >> (32 - bits), bits, byte(i)}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].bits != all[j].bits {
			return all[i].bits < all[j].bits
		}
		return all[i].code < all[j].code
	})
	return all
}

func buildHuffman() (short [256]shortCode, long []codesOf) {
	for _, c := range huffmanCodes() {
		if c.bits <= 8 {
			base := c.code << (8 - c.bits)
			for k := range uint32(1) << (8 - c.bits) {
				short[base+k] = shortCode{c.sym, c.bits}
			}
			continue
		}
		if n := len(long); n == 0 || long[n-1].bits != c.bits {
			long = append(long, codesOf{first: c.code, bits: c.bits})
		}
		l := &long[len(long)-1]
		l.syms = append(l.syms, c.sym)
		l.limit = uint64(c.code+1) << (64 - c.bits)
	}
	return short, long
}

func buildPairs() (t [1 << pairBits]pair) {
	for i := range t {
		rest := uint32(i) << (32 - pairBits)
		a := shortCodes[rest>>24]
		if a.bits == 0 {
			continue
		}
		t[i] = 1<<24 | pair(a.sym)<<8 | pair(a.bits)
		b := shortCodes[rest<<a.bits>>24]
		if b.bits != 0 && a.bits+b.bits <= pairBits {
			t[i] = 2<<24 | pair(b.sym)<<16 | pair(a.sym)<<8 | pair(a.bits+b.bits)
		}
	}
	return t
}

// AppendHuffman decodes src and appends the result (RFC 7541 5.2).
func AppendHuffman(dst, src []byte) ([]byte, error) {
	n := len(dst)
	dst = growBytes(dst, len(src)*8/minCodeBits+1) // one more, as symbols are written by twos
	out := dst[:cap(dst)]
	var acc uint64 // bits to decode, the next one on top; zero below
	var have uint  // how many
	for len(src) >= 8 {
		acc |= binary.BigEndian.Uint64(src) >> have
		src = src[(63-have)>>3:] // the octets that fitted; the rest of acc is read again
		have |= 56
		for have >= pairBits {
			c := pairs[acc>>(64-pairBits)]
			if c == 0 {
				if have < maxCodeBits {
					break
				}
				sym, bits := longCode(acc)
				if bits == 0 {
					return out[:n], ErrHuffman
				}
				c = 1<<24 | pair(sym)<<8 | pair(bits)
			}
			out[n], out[n+1] = byte(c>>8), byte(c>>16)
			n += int(c >> 24)
			acc <<= c.bits()
			have -= c.bits()
		}
	}
	return huffmanTail(out, n, src, acc, have)
}

// huffmanTail decodes the last octets and the padding.
func huffmanTail(out []byte, n int, src []byte, acc uint64, have uint) ([]byte, error) {
	for {
		for have <= 56 && len(src) > 0 {
			acc |= uint64(src[0]) << (56 - have)
			src = src[1:]
			have += 8
		}
		if c := shortCodes[acc>>56]; c.bits != 0 && uint(c.bits) <= have {
			out[n] = c.sym
			n++
			acc <<= c.bits
			have -= uint(c.bits)
			continue
		}
		if have < 8 {
			return out[:n], checkPadding(acc, have)
		}
		sym, bits := longCode(acc)
		if bits == 0 || bits > have {
			return out[:n], ErrHuffman
		}
		out[n] = sym
		n++
		acc <<= bits
		have -= bits
	}
}

// longCode finds a code of more than 8 bits; bits is 0 for EOS, which must not
// occur.
func longCode(acc uint64) (sym byte, bits uint) {
	for i := range longCodes {
		l := &longCodes[i]
		if acc < l.limit {
			return l.syms[uint32(acc>>(64-l.bits))-l.first], uint(l.bits)
		}
	}
	return 0, 0
}

// checkPadding wants less than eight bits, all ones.
func checkPadding(acc uint64, have uint) error {
	if acc != ^uint64(0)<<(64-have) {
		return ErrHuffman
	}
	return nil
}

// growBytes returns b with capacity for n more octets.
func growBytes(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+n+64), b...)
}
