// Package fivegtest has a home network for tests: the other side of a USIM. It shares no code with runner/fiveg, and
// takes AES and HMAC from the standard library.
package fivegtest

import (
	"bytes"
	"crypto/aes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Home is the home environment of one subscriber: its keys and its sequence number.
type Home struct {
	K, OPc []byte
	// AMF of the vectors; its first bit is the separation bit.
	AMF [2]byte
	// SQN of the last vector. Vector adds Step to it.
	SQN, Step uint64
	Network   string
}

// Vector is an authentication vector.
type Vector struct{ RAND, AUTN, RESStar, KAUSF, KSEAF []byte }

// block returns E(K, x).
func (h *Home) block(x []byte) []byte {
	c, err := aes.NewCipher(h.K)
	if err != nil {
		panic(err)
	}
	out := make([]byte, aes.BlockSize)
	c.Encrypt(out, x)
	return out
}

func xor(a, b []byte) []byte {
	out := make([]byte, len(a))
	for i := range a {
		out[i] = a[i] ^ b[i]
	}
	return out
}

// out returns OUT2 to OUT5 of TS 35.206: rotations by whole octets, and the last octet of the constant.
func (h *Home) out(rand []byte, rotation int, constant byte) []byte {
	x := xor(h.block(xor(rand, h.OPc)), h.OPc)
	x = append(bytes.Clone(x[rotation:]), x[:rotation]...)
	x[15] ^= constant
	return xor(h.block(x), h.OPc)
}

// F1 returns the results of f1 and f1*.
func (h *Home) F1(rand, sqn, amf []byte) (a, s []byte) {
	in := bytes.Repeat(append(bytes.Clone(sqn), amf...), 2)
	in = xor(in, h.OPc)
	in = append(bytes.Clone(in[8:]), in[:8]...)
	out := xor(h.block(xor(in, h.block(xor(rand, h.OPc)))), h.OPc)
	return out[:8], out[8:]
}

// F2345 returns RES, CK, IK and AK, and AK of f5*.
func (h *Home) F2345(rand []byte) (res, ck, ik, ak, resyncAK []byte) {
	two, five := h.out(rand, 0, 1), h.out(rand, 12, 8)
	return two[8:], h.out(rand, 4, 2), h.out(rand, 8, 4), two[:6], five[:6]
}

// Vector returns the next vector (TS 33.501 6.1.3.2). RAND is derived from SQN.
func (h *Home) Vector() Vector {
	h.SQN += h.Step
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, h.SQN))
	return h.VectorOf(sum[:16])
}

// VectorOf returns a vector with the present SQN.
func (h *Home) VectorOf(rand []byte) Vector {
	sqn := binary.BigEndian.AppendUint64(nil, h.SQN)[2:]
	res, ck, ik, ak, _ := h.F2345(rand)
	mac, _ := h.F1(rand, sqn, h.AMF[:])
	hidden := xor(sqn, ak)
	v := Vector{RAND: rand, AUTN: append(append(bytes.Clone(hidden), h.AMF[:]...), mac...)}
	key := append(bytes.Clone(ck), ik...)
	v.RESStar = KDF(key, 0x6b, []byte(h.Network), rand, res)[16:]
	v.KAUSF = KDF(key, 0x6a, []byte(h.Network), hidden)
	v.KSEAF = KDF(v.KAUSF, 0x6c, []byte(h.Network))
	return v
}

// JSON returns UEAuthenticationCtx of TS 29.509 with the vector.
func (v Vector) JSON() []byte {
	return fmt.Appendf(nil, `{"authType":"5G_AKA","5gAuthData":{"rand":"%x","autn":"%x"}}`, v.RAND, v.AUTN)
}

// Resynchronize verifies AUTS for a RAND, both in hexadecimal digits, and sets SQN to SQN_MS (TS 33.102 6.3.5).
func (h *Home) Resynchronize(rand, auts string) error {
	r, err := hex.DecodeString(rand)
	if err != nil {
		return err
	}
	a, err := hex.DecodeString(auts)
	if err != nil || len(a) != 14 {
		return fmt.Errorf("AUTS %q has not 28 hexadecimal digits", auts)
	}
	_, _, _, _, ak := h.F2345(r)
	sqn := xor(a[:6], ak)
	if _, s := h.F1(r, sqn, []byte{0, 0}); !hmac.Equal(s, a[6:]) {
		return fmt.Errorf("MAC-S is %x, want %x", a[6:], s)
	}
	h.SQN = binary.BigEndian.Uint64(append([]byte{0, 0}, sqn...))
	return nil
}

// KDF is the key derivation function of TS 33.220 B.2.
func KDF(key []byte, fc byte, parameters ...[]byte) []byte {
	text := []byte{fc}
	for _, p := range parameters {
		text = binary.BigEndian.AppendUint16(append(text, p...), uint16(len(p)))
	}
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}
