package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	defaultAssertionLifetime = 5 * time.Minute
	// maxAssertion is what a header field can have, with the certificates of the chain.
	maxAssertion = 12 << 10
)

// OpenAssertion is Open for the client credentials assertion of a target: a JWT that this process signs (3GPP TS 33.501
// 13.3.8). The next one is signed after half of its lifetime, with the files as they are then.
func OpenAssertion(ctx context.Context, c *rv.ClientAssertion, attempted func(error), update func(value []byte, err error)) (value []byte, done <-chan struct{}, err error) {
	return open(ctx, func(context.Context) (grant, error) { return signAssertion(c, time.Now()) }, attempted, update)
}

// claims are those of 3GPP TS 33.501 13.3.8.2, with the names of RFC 7519 4.1.
type claims struct {
	Subject  string   `json:"sub"`
	IssuedAt int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Audience []string `json:"aud"`
}

// jose is the header of a JWS (RFC 7515 4.1). X5C are the certificates of the signer, the first one for its key.
type jose struct {
	Algorithm string   `json:"alg"`
	Type      string   `json:"typ"`
	X5C       [][]byte `json:"x5c"` // standard base64, not base64url
}

func signAssertion(c *rv.ClientAssertion, now time.Time) (grant, error) {
	lifetime := c.Lifetime
	if lifetime == 0 {
		lifetime = defaultAssertionLifetime
	}
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return grant{}, fmt.Errorf("certFile %s, keyFile %s: %w", c.CertFile, c.KeyFile, err)
	}
	s, err := signerOf(pair.PrivateKey)
	if err != nil {
		return grant{}, fmt.Errorf("keyFile %s: %w", c.KeyFile, err)
	}
	value, err := s.jwt(jose{Type: "JWT", X5C: pair.Certificate}, claims{Subject: c.Subject, IssuedAt: now.Unix(), Expires: now.Add(lifetime).Unix(), Audience: c.Audience})
	if err == nil && len(value) > maxAssertion {
		err = fmt.Errorf("certFile %s: the assertion has %d octets with the chain of certificates; allowed: at most %d", c.CertFile, len(value), maxAssertion)
	}
	if err != nil {
		return grant{}, err
	}
	return grant{value: value, lifetime: lifetime - time.Second, refresh: lifetime / 2}, nil // exp has no fraction
}

// signer signs by an algorithm of RFC 7518 3.1.
type signer struct {
	algorithm string
	sign      func(content []byte) ([]byte, error)
}

// minRSABits is the size of the smallest key that receivers accept.
const minRSABits = 2048

func signerOf(key crypto.PrivateKey) (signer, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if bits := k.N.BitLen(); bits < minRSABits {
			return signer{}, fmt.Errorf("the RSA key has %d bits; allowed: at least %d (RFC 7518 3.3)", bits, minRSABits)
		}
		return signer{"RS256", func(content []byte) ([]byte, error) {
			sum := sha256.Sum256(content)
			return rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:])
		}}, nil
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return signer{"ES256", func(content []byte) ([]byte, error) {
				sum := sha256.Sum256(content)
				return signECDSA(k, sum[:])
			}}, nil
		case 384:
			return signer{"ES384", func(content []byte) ([]byte, error) {
				sum := sha512.Sum384(content)
				return signECDSA(k, sum[:])
			}}, nil
		}
	}
	return signer{}, errors.New("the key cannot sign an assertion; allowed: RSA with at least 2048 bits, ECDSA with P-256 or P-384")
}

// signECDSA returns R and S with the length of the key each (RFC 7518 3.4).
func signECDSA(key *ecdsa.PrivateKey, sum []byte) ([]byte, error) {
	r, s, err := ecdsa.Sign(rand.Reader, key, sum)
	if err != nil {
		return nil, err
	}
	size := (key.Curve.Params().BitSize + 7) / 8
	out := make([]byte, 2*size)
	r.FillBytes(out[:size])
	s.FillBytes(out[size:])
	return out, nil
}

// jwt returns the compact serialization (RFC 7515 7.1).
func (s signer) jwt(header jose, body claims) ([]byte, error) {
	header.Algorithm = s.algorithm
	var out []byte
	for _, part := range []any{header, body} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		out = append(base64.RawURLEncoding.AppendEncode(out, text), '.')
	}
	out = out[:len(out)-1]
	signature, err := s.sign(out)
	if err != nil {
		return nil, err
	}
	return base64.RawURLEncoding.AppendEncode(append(out, '.'), signature), nil
}
