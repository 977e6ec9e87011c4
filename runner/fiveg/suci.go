package fiveg

import (
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/hmac"
)

// ephemeralKeys is the number of ephemeral keys of a concealer. With a key for each SUCI, a CPU would make about ten
// thousand of them a second.
const ephemeralKeys = 256

// concealer conceals MSINs with ECIES (TS 33.501 C.3). A subscriber always gets the same ephemeral key, so its SUCI is
// the same in each test.
type concealer [ephemeralKeys]ephemeral

// ephemeral is an ephemeral key of the UE, and what is derived from it and from the key of the home network.
type ephemeral struct {
	// public is the encoded public key in hexadecimal digits.
	public []byte
	// stream is the first block of the key stream of AES-128 in counter mode. An MSIN is shorter.
	stream [KeySize]byte
	macKey [sha256.Size]byte
}

func newConcealer(key *rv.SUCI) (*concealer, error) {
	home, err := key.Key()
	if err != nil {
		return nil, err
	}
	c := &concealer{}
	for i := range c {
		if c[i], err = newEphemeral(home, privateKey(home, i)); err != nil {
			return nil, rv.InField("suci.publicKey", err)
		}
	}
	return c, nil
}

// privateKey returns the ephemeral private key number i for a key of the home network.
func privateKey(home *ecdh.PublicKey, i int) *ecdh.PrivateKey {
	for try := 0; ; try++ { // almost all octets are a key of P-256
		sum := sha256.Sum256(fmt.Appendf(nil, "suci %d %d %x", i, try, home.Bytes()))
		if key, err := home.Curve().NewPrivateKey(sum[:]); err == nil {
			return key
		}
	}
}

func newEphemeral(home *ecdh.PublicKey, private *ecdh.PrivateKey) (e ephemeral, err error) {
	shared, err := private.ECDH(home)
	if err != nil {
		return e, fmt.Errorf("is not a key of the curve: %w", err)
	}
	public := compressed(private.PublicKey())
	keys := deriveX963(shared, public)
	e.public = hex.AppendEncode(nil, public)
	var block aes128
	block.setKey((*[KeySize]byte)(keys[:]))
	block.encrypt(&e.stream, (*[KeySize]byte)(keys[KeySize:]))
	copy(e.macKey[:], keys[2*KeySize:])
	return e, nil
}

// compressed returns a point of P-256 in compressed form (SEC 1 2.3.3), and a key of X25519 as it is.
func compressed(key *ecdh.PublicKey) []byte {
	b := key.Bytes()
	const size = 32
	if len(b) != 1+2*size {
		return b
	}
	return append([]byte{2 + b[2*size]&1}, b[1:1+size]...)
}

// deriveX963 returns encryption key, initial counter block and MAC key (ANSI X9.63 KDF with SHA-256, SEC 1 3.6.1).
func deriveX963(shared, info []byte) (keys [2 * sha256.Size]byte) {
	for i := range 2 {
		text := binary.BigEndian.AppendUint32(append([]byte(nil), shared...), uint32(i+1))
		sum := sha256.Sum256(append(text, info...))
		copy(keys[i*sha256.Size:], sum[:])
	}
	return keys
}

// appendOutput appends the scheme output for an MSIN with the given number of digits: public key, ciphertext and MAC.
func (e *ephemeral) appendOutput(dst []byte, msin int64, digits int) []byte {
	var packed [8]byte
	size := (digits + 1) / 2
	for i := digits - 1; i >= 0; i-- { // two digits for each octet, the first one in the lower half (TS 24.501 9.11.3.4)
		packed[i/2] |= byte(msin%10) << (i % 2 * 4)
		msin /= 10
	}
	if digits%2 == 1 {
		packed[size-1] |= 0xf0
	}
	for i := range packed[:size] {
		packed[i] ^= e.stream[i]
	}
	var buf [hmac.Buffer]byte
	sum, _ := hmac.Sum(buf[:], e.macKey[:], packed[:size])
	const tag = 8
	dst = append(dst, e.public...)
	dst = hex.AppendEncode(dst, packed[:size])
	return hex.AppendEncode(dst, sum[:tag])
}
