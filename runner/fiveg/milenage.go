package fiveg

import (
	"crypto/cipher"
	"crypto/subtle"

	"github.com/h2surge/h2surge/runner/hmac"
)

// KeySize is the length in octets of K, OP, OPc, RAND, CK, IK and RES*.
const KeySize = 16

// USIM computes what a USIM answers. It belongs to one worker, and has the keys of one subscriber at a time.
type USIM struct {
	block aes128
	// shared is the cipher of the standard library, which is faster; nil: block.
	shared cipher.Block
	k, opc [KeySize]byte
	// temp is E(K, RAND xor OPc), and masked is temp xor OPc.
	temp, masked, out [KeySize]byte
	// text and work are buffers.
	text, work []byte

	// The rest is of the last challenge; see Respond.
	rand, autn [KeySize]byte
	last       answer
	network    []byte
	auts       [sqnSize + len(mac{})]byte
	// answered: the USIM has accepted MAC and AMF. stale: it has not accepted SQN.
	answered, stale bool
	// packet and eap are the request and the response of EAP-AKA'. Without a challenge of EAP-AKA', eap is empty. mk is
	// the beginning of the master key.
	packet, eap []byte
	mk          [6 * hmac.Size]byte
}

// answer has the results of f2 to f5.
type answer struct {
	res    [8]byte
	ck, ik [KeySize]byte
	ak     [sqnSize]byte
}

// mac is MAC-A (f1) or MAC-S (f1*).
type mac [8]byte

// setKeys makes u the USIM with the subscriber key K and the operator variant OPc. shared is a cipher with K, or nil.
func (u *USIM) setKeys(k, opc [KeySize]byte, shared cipher.Block) {
	u.opc, u.shared = opc, shared
	if shared == nil && (u.k != k || u.block == (aes128{})) {
		u.k = k
		u.block.setKey(&k)
	}
}

func (u *USIM) encrypt(b *[KeySize]byte) {
	if u.shared != nil {
		u.shared.Encrypt(b[:], b[:])
		return
	}
	u.block.encrypt(b, b)
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

// answer returns RES (f2), CK (f3), IK (f4) and AK (f5).
func (u *USIM) answer(rand [KeySize]byte) answer {
	var a answer
	subtle.XORBytes(u.temp[:], rand[:], u.opc[:])
	u.encrypt(&u.temp)
	subtle.XORBytes(u.masked[:], u.temp[:], u.opc[:])
	u.output(0, 1)
	copy(a.res[:], u.out[8:])
	copy(a.ak[:], u.out[:])
	u.output(4, 2)
	a.ck = u.out
	u.output(8, 4)
	a.ik = u.out
	return a
}

// macs returns MAC-A (f1) and MAC-S (f1*) for the RAND of the last answer.
func (u *USIM) macs(sqn [sqnSize]byte, amf [2]byte) (a, s mac) {
	const half = KeySize / 2
	var in [half]byte
	copy(in[:], sqn[:])
	copy(in[sqnSize:], amf[:])
	for i, c := range in {
		u.out[i] = u.temp[i] ^ c ^ u.opc[i+half]
		u.out[i+half] = u.temp[i+half] ^ c ^ u.opc[i]
	}
	u.encrypt(&u.out)
	subtle.XORBytes(u.out[:], u.out[:], u.opc[:])
	return mac(u.out[:half]), mac(u.out[half:])
}

// resyncKey returns AK of f5* for the RAND of the last answer.
func (u *USIM) resyncKey() [sqnSize]byte {
	u.output(12, 8)
	return [sqnSize]byte(u.out[:])
}

// output sets out to E(K, rot(temp xor OPc, r) xor c) xor OPc. It rotates to the left by r octets; c is the last octet
// of the constant.
func (u *USIM) output(r int, c byte) {
	copy(u.out[:], u.masked[r:])
	copy(u.out[KeySize-r:], u.masked[:r])
	u.out[KeySize-1] ^= c
	u.encrypt(&u.out)
	subtle.XORBytes(u.out[:], u.out[:], u.opc[:])
}
