package aka

import "crypto/sha256"

// RESStar returns RES* for the serving network name, such as "5G:mnc001.mcc001.3gppnetwork.org" (TS 24.501 9.12.1). RES*
// is the last half of HMAC-SHA-256 with the key CK || IK (TS 33.220 B.2).
func (u *USIM) RESStar(rand [Size]byte, network []byte) [Size]byte {
	const fc = 0x6b
	a := u.Answer(rand)
	u.text = append(u.text[:0], fc)
	u.parameter(network)
	u.parameter(rand[:])
	u.parameter(a.RES[:])
	clear(u.pad[:])
	copy(u.pad[:], a.CK[:])
	copy(u.pad[Size:], a.IK[:])
	sum := u.hmac()
	return [Size]byte(sum[Size:])
}

// parameter appends a parameter and its length in two octets.
func (u *USIM) parameter(p []byte) {
	u.text = append(u.text, p...)
	u.text = append(u.text, byte(len(p)>>8), byte(len(p)))
}

// hmac returns the HMAC (RFC 2104) of text with the key pad.
func (u *USIM) hmac() [sha256.Size]byte {
	n := len(u.text)
	u.text = append(u.text, u.pad[:]...)
	copy(u.text[len(u.pad):], u.text[:n])
	for i, c := range u.pad {
		u.text[i] = c ^ 0x36
	}
	inner := sha256.Sum256(u.text)
	u.text = u.text[:0]
	for _, c := range u.pad {
		u.text = append(u.text, c^0x5c)
	}
	u.text = append(u.text, inner[:]...)
	return sha256.Sum256(u.text)
}

// HXRESStar returns HXRES*, the last half of SHA-256(RAND || XRES*).
func HXRESStar(rand, xresStar [Size]byte) [Size]byte {
	var text [2 * Size]byte
	copy(text[:], rand[:])
	copy(text[Size:], xresStar[:])
	sum := sha256.Sum256(text[:])
	return [Size]byte(sum[Size:])
}
