package hmac_test

import (
	stdhmac "crypto/hmac"
	"crypto/sha256"
	"testing"

	"github.com/h2surge/h2surge/runner/hmac"
)

// TestSum compares with the standard library, with keys and texts that are shorter and longer than a block.
func TestSum(t *testing.T) {
	lengths := []int{0, 1, 31, 32, 63, 64, 65, 200}
	var buf []byte
	for _, k := range lengths {
		for _, n := range lengths {
			key, text := make([]byte, k), make([]byte, n)
			for i := range key {
				key[i] = byte(i + 1)
			}
			for i := range text {
				text[i] = byte(i + n)
			}
			h := stdhmac.New(sha256.New, key)
			h.Write(text) // never fails
			want := [hmac.Size]byte(h.Sum(nil))
			var got [hmac.Size]byte
			if got, buf = hmac.Sum(buf, key, text); got != want {
				t.Errorf("key of %d, text of %d octets: %x, want %x", k, n, got, want)
			}
			buf = append(buf[:0], key...)
			if got, buf = hmac.Sum(buf, buf, text); got != want {
				t.Errorf("key of %d octets in the buffer, text of %d: %x, want %x", k, n, got, want)
			}
		}
	}
}
