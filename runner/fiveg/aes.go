package fiveg

import (
	"encoding/binary"
	"math/bits"
)

// aes128 encrypts blocks with AES-128 (FIPS 197). Unlike the block cipher of the standard library, it gets another key
// without an allocation: each subscriber has its own key. Its time depends on the key, so it is for test keys only.
type aes128 struct{ keys [4 * (rounds + 1)]uint32 }

const rounds = 10

// substitutes is the S-box (FIPS 197 5.1.1). columns has for each octet the column that SubBytes and MixColumns make of
// it in the first row. The columns of the other rows are rotations of it.
var substitutes, columns = tables()

func tables() (s [256]byte, t [256]uint32) {
	// p runs through the powers of 3, and q through the powers of its inverse, so q is the inverse of p.
	for p, q := byte(1), byte(1); ; {
		p ^= double(p)
		q ^= q << 1
		q ^= q << 2
		q ^= q << 4
		if q&0x80 != 0 {
			q ^= 0x09
		}
		s[p] = q ^ bits.RotateLeft8(q, 1) ^ bits.RotateLeft8(q, 2) ^ bits.RotateLeft8(q, 3) ^ bits.RotateLeft8(q, 4) ^ affine
		if p == 1 {
			break
		}
	}
	s[0] = affine
	for i, v := range s {
		two := double(v)
		t[i] = binary.BigEndian.Uint32([]byte{two, v, v, two ^ v})
	}
	return s, t
}

// affine is the constant of the S-box.
const affine = 0x63

// double multiplies by x modulo x^8 + x^4 + x^3 + x + 1.
func double(b byte) byte { return b<<1 ^ b>>7*0x1b }

// setKey expands a key (FIPS 197 5.2).
func (a *aes128) setKey(key *[KeySize]byte) {
	for i := range 4 {
		a.keys[i] = binary.BigEndian.Uint32(key[4*i:])
	}
	constant := byte(1)
	for i := 4; i < len(a.keys); i++ {
		word := a.keys[i-1]
		if i%4 == 0 {
			word = substitute(bits.RotateLeft32(word, 8)) ^ uint32(constant)<<24
			constant = double(constant)
		}
		a.keys[i] = a.keys[i-4] ^ word
	}
}

func substitute(w uint32) uint32 {
	return uint32(substitutes[w>>24])<<24 | uint32(substitutes[w>>16&0xff])<<16 | uint32(
		substitutes[w>>8&0xff])<<8 | uint32(substitutes[w&0xff])
}

// encrypt sets out to the encryption of in. They can be the same block.
func (a *aes128) encrypt(out, in *[KeySize]byte) {
	var s, next [4]uint32
	for i := range s {
		s[i] = binary.BigEndian.Uint32(in[4*i:]) ^ a.keys[i]
	}
	for r := 1; r < rounds; r++ {
		for i := range next {
			next[i] = columns[s[i]>>24] ^ bits.RotateLeft32(columns[s[(i+1)%4]>>16&0xff], -8) ^
				bits.RotateLeft32(columns[s[(i+2)%4]>>8&0xff], -16) ^ bits.RotateLeft32(columns[s[(i+3)%4]&0xff], -24) ^ a.keys[4*r+
				i]
		}
		s = next
	}
	for i := range s {
		shifted := s[i]&0xff000000 | s[(i+1)%4]&0xff0000 | s[(i+2)%4]&0xff00 | s[(i+3)%4]&0xff
		binary.BigEndian.PutUint32(out[4*i:], substitute(shifted)^a.keys[4*rounds+i])
	}
}
