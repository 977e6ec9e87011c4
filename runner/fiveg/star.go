package fiveg

import (
	"crypto/sha256"

	"github.com/h2surge/h2surge/runner/hmac"
)

// RESStar returns RES* for the serving network name, such as "5G:mnc001.mcc001.3gppnetwork.org" (TS 24.501 9.12.1). RES*
// is the last half of HMAC-SHA-256 with the key CK || IK (TS 33.220 B.2).
func (u *USIM) RESStar(rand [KeySize]byte, network []byte) [KeySize]byte {
	const fc = 0x6b
	a := u.Answer(rand)
	u.text = append(u.text[:0], fc)
	u.parameter(network)
	u.parameter(rand[:])
	u.parameter(a.RES[:])
	u.work = append(append(u.work[:0], a.CK[:]...), a.IK[:]...)
	var sum [hmac.Size]byte
	sum, u.work = hmac.Sum(u.work, u.work, u.text)
	return [KeySize]byte(sum[KeySize:])
}

// parameter appends a parameter and its length in two octets.
func (u *USIM) parameter(p []byte) {
	u.text = append(u.text, p...)
	u.text = append(u.text, byte(len(p)>>8), byte(len(p)))
}

// HXRESStar returns HXRES*, the last half of SHA-256(RAND || XRES*).
func HXRESStar(rand, xresStar [KeySize]byte) [KeySize]byte {
	var text [2 * KeySize]byte
	copy(text[:], rand[:])
	copy(text[KeySize:], xresStar[:])
	sum := sha256.Sum256(text[:])
	return [KeySize]byte(sum[KeySize:])
}
