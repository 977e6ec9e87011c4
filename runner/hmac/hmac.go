// Package hmac computes HMAC-SHA-256 (RFC 2104) without allocating memory. crypto/hmac allocates a hash for each key.
package hmac

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
)

// Buffer is the size of a buffer that is enough for texts of up to Size octets.
const Buffer = sha256.BlockSize + Size

// Size of a sum.
const Size = sha256.Size

// Sum returns the HMAC of a text: H(K xor opad, H(K xor ipad, text)). It works in the memory of buf and returns this
// memory, which may have grown. key may be at the beginning of buf.
func Sum(buf, key, text []byte) (sum [Size]byte, grown []byte) {
	var block [sha256.BlockSize]byte
	if len(key) > len(block) {
		sum = sha256.Sum256(key)
		key = sum[:]
	}
	copy(block[:], key)
	buf = append(append(buf[:0], inner[:]...), text...)
	subtle.XORBytes(buf, buf, block[:])
	sum = sha256.Sum256(buf)
	buf = append(append(buf[:0], outer[:]...), sum[:]...)
	subtle.XORBytes(buf, buf, block[:])
	return sha256.Sum256(buf), buf
}

// inner and outer are ipad and opad.
var inner, outer = [sha256.BlockSize]byte(bytes.Repeat([]byte{0x36}, sha256.BlockSize)),
	[sha256.BlockSize]byte(bytes.Repeat([]byte{0x5c}, sha256.BlockSize))
