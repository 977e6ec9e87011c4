// Package hmac computes HMAC-SHA-256 (RFC 2104) without allocating memory. crypto/hmac allocates a hash for each key.
package hmac

import "crypto/sha256"

// Buffer is the size of a buffer that is enough for texts of up to Size octets.
const Buffer = sha256.BlockSize + Size

// Size of a sum.
const Size = sha256.Size

// Sum returns the HMAC of a text: H(K xor opad, H(K xor ipad, text)). It works in the memory of buf and returns this
// memory, which may have grown. key may be at the beginning of buf.
func Sum(buf, key, text []byte) (sum [Size]byte, grown []byte) {
	const block, inner, outer = sha256.BlockSize, 0x36, 0x5c
	if len(key) > block {
		short := sha256.Sum256(key)
		key = short[:]
	}
	n := len(key)
	buf = append(buf[:0], key...)
	buf = append(buf, zeros[n:]...)
	for i := range buf {
		buf[i] ^= inner
	}
	buf = append(buf, text...)
	sum = sha256.Sum256(buf)
	buf = buf[:block]
	for i := range buf {
		buf[i] ^= inner ^ outer
	}
	buf = append(buf, sum[:]...)
	return sha256.Sum256(buf), buf
}

var zeros [sha256.BlockSize]byte
