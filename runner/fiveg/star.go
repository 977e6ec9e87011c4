package fiveg

import (
	"crypto/sha256"
	"encoding/hex"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// AppendRESStar appends RES* for the keys K and OPc and the serving network name, such as
// "5G:mnc001.mcc001.3gppnetwork.org" (TS 24.501 9.12.1). RES* is the last half of HMAC-SHA-256 with the key CK || IK
// (TS 33.220 B.2). RAND, K, OPc and RES* are hexadecimal digits of 128 bits. It appends nothing if one of them is not.
func (u *USIM) AppendRESStar(dst, rand, k, opc, network []byte) []byte {
	r, err1 := rv.Key(rand)
	key, err2 := rv.Key(k)
	variant, err3 := rv.Key(opc)
	if err1 != nil || err2 != nil || err3 != nil {
		return dst
	}
	u.setKeys(key, variant, nil)
	a := u.answer(r)
	return u.appendRESStar(dst, network, &r, &a)
}

func (u *USIM) appendRESStar(dst, network []byte, rand *[KeySize]byte, a *answer) []byte {
	const fc = 0x6b
	u.text = append(u.text[:0], fc)
	u.parameter(network)
	u.parameter(rand[:])
	u.parameter(a.res[:])
	u.work = append(append(u.work[:0], a.ck[:]...), a.ik[:]...)
	sum := u.derive()
	return hex.AppendEncode(dst, sum[KeySize:])
}

// parameter appends a parameter and its length in two octets.
func (u *USIM) parameter(p []byte) {
	u.text = append(u.text, p...)
	u.text = append(u.text, byte(len(p)>>8), byte(len(p)))
}

// AppendHXRESStar appends HXRES*, the last half of SHA-256(RAND || XRES*). All are hexadecimal digits of 128 bits. It
// appends nothing if RES* or RAND are not.
func AppendHXRESStar(dst, resStar, rand []byte) []byte {
	res, err1 := rv.Key(resStar)
	r, err2 := rv.Key(rand)
	if err1 != nil || err2 != nil {
		return dst
	}
	var text [2 * KeySize]byte
	copy(text[:], r[:])
	copy(text[KeySize:], res[:])
	sum := sha256.Sum256(text[:])
	return hex.AppendEncode(dst, sum[KeySize:])
}
