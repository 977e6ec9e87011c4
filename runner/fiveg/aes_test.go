package fiveg

import (
	"crypto/aes"
	"math/rand/v2"
	"testing"
)

// TestAES compares with the standard library, and gives a cipher another key each time.
func TestAES(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	var ours aes128
	for range 1000 {
		var key, in, got, want [KeySize]byte
		_, _ = random.Read(key[:]) // never fails
		_, _ = random.Read(in[:])
		theirs, err := aes.NewCipher(key[:])
		if err != nil {
			t.Fatal(err)
		}
		theirs.Encrypt(want[:], in[:])
		ours.setKey(&key)
		ours.encrypt(&got, &in)
		if got != want {
			t.Fatalf("key %x, in %x: got %x, want %x", key, in, got, want)
		}
	}
}

func BenchmarkRESStar(b *testing.B) {
	var u USIM
	var buf []byte
	s, network := sets[0], []byte("5G:mnc001.mcc001.3gppnetwork.org")
	k, rand, opc := []byte(s.k), []byte(s.rand), []byte(s.opc)
	for i := range b.N {
		k[0] = '0' + byte(i)%10
		buf = u.AppendRESStar(buf[:0], rand, k, opc, network)
	}
}
