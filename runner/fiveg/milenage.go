package fiveg

import "crypto/subtle"

// KeySize is the length in octets of K, OP, OPc, RAND, CK, IK and RES*.
const KeySize = 16

// USIM has the secrets of one subscriber. SetKeys must be the first call.
type USIM struct {
	block     aes128
	k, opc    [KeySize]byte
	temp, out [KeySize]byte
	// text and work are buffers.
	text, work []byte
}

// Answer has the results of f2, f3, f4 and f5.
type Answer struct {
	RES    [8]byte
	CK, IK [KeySize]byte
	AK     [6]byte
}

// SetKeys makes u the USIM with the subscriber key K and the operator variant OPc.
func (u *USIM) SetKeys(k, opc [KeySize]byte) {
	if u.k != k || u.block == (aes128{}) {
		u.k = k
		u.block.setKey(&k)
	}
	u.opc = opc
}

// OPc returns the operator variant of OP for the subscriber key K: E(K, OP) xor OP.
func OPc(k, op [KeySize]byte) [KeySize]byte {
	var block aes128
	var out [KeySize]byte
	block.setKey(&k)
	block.encrypt(&out, &op)
	subtle.XORBytes(out[:], out[:], op[:])
	return out
}

// F1 returns MAC-A (f1) and MAC-S (f1*).
func (u *USIM) F1(rand [KeySize]byte, sqn [6]byte, amf [2]byte) (macA, macS [8]byte) {
	u.setTemp(rand)
	// IN1 is SQN, AMF, SQN, AMF. It is rotated by 64 bits, so both halves, which are equal, change places.
	var in [KeySize]byte
	for at := 0; at < KeySize; at += 8 {
		copy(in[at:], sqn[:])
		copy(in[at+6:], amf[:])
	}
	for i := range in {
		u.out[i] = in[i] ^ u.opc[(i+8)%KeySize] ^ u.temp[i]
	}
	u.finish()
	return [8]byte(u.out[:8]), [8]byte(u.out[8:])
}

// Answer returns RES (f2), CK (f3), IK (f4) and AK (f5).
func (u *USIM) Answer(rand [KeySize]byte) Answer {
	var a Answer
	u.setTemp(rand)
	u.output(0, 1)
	copy(a.AK[:], u.out[:6])
	copy(a.RES[:], u.out[8:])
	u.output(4, 2)
	a.CK = u.out
	u.output(8, 4)
	a.IK = u.out
	return a
}

// F5Star returns AK for the resynchronization (f5*).
func (u *USIM) F5Star(rand [KeySize]byte) [6]byte {
	u.setTemp(rand)
	u.output(12, 8)
	return [6]byte(u.out[:6])
}

// setTemp sets temp to E(K, RAND xor OPc).
func (u *USIM) setTemp(rand [KeySize]byte) {
	subtle.XORBytes(u.temp[:], rand[:], u.opc[:])
	u.block.encrypt(&u.temp, &u.temp)
}

// output sets out to E(K, rot(temp xor OPc, r) xor c) xor OPc. It rotates to the left by r octets; c is the last octet of
// the constant.
func (u *USIM) output(r int, c byte) {
	for i := range u.out {
		from := (i + r) % KeySize
		u.out[i] = u.temp[from] ^ u.opc[from]
	}
	u.out[KeySize-1] ^= c
	u.finish()
}

// finish sets out to E(K, out) xor OPc.
func (u *USIM) finish() {
	u.block.encrypt(&u.out, &u.out)
	subtle.XORBytes(u.out[:], u.out[:], u.opc[:])
}
