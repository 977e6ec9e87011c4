package fiveg

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	defaultAssertionLifetime = 5 * time.Minute
	// maxAssertion is what a header field can have, with the certificates of the chain.
	maxAssertion = 12 << 10
)

// claims are those of 3GPP TS 33.501 13.3.8.2, with the names of RFC 7519 4.1.
type claims struct {
	Subject  string   `json:"sub"`
	IssuedAt int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Audience []string `json:"aud"`
}

// SignAssertion returns a client credentials assertion: a JWT (3GPP TS 33.501 13.3.8). It reads the files of c. The
// lifetime begins at now.
func SignAssertion(c *rv.ClientAssertion, now time.Time) (value []byte, lifetime time.Duration, err error) {
	lifetime = c.Lifetime
	if lifetime == 0 {
		lifetime = defaultAssertionLifetime
	}
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, 0, fmt.Errorf("certFile %s, keyFile %s: %w", c.CertFile, c.KeyFile, err)
	}
	algorithm, err := algorithmOf(pair.PrivateKey)
	if err != nil {
		return nil, 0, fmt.Errorf("keyFile %s: %w", c.KeyFile, err)
	}
	// The first certificate of x5c has the key (RFC 7515 4.1.6).
	header := (&jose.SignerOptions{}).WithType("JWT").WithHeader("x5c", pair.Certificate)
	text, err := sign(jose.SigningKey{Algorithm: algorithm, Key: pair.PrivateKey}, header, claims{Subject: c.Subject,
		IssuedAt: now.Unix(), Expires: now.Add(lifetime).Unix(), Audience: c.Audience})
	if err == nil && len(text) > maxAssertion {
		err = fmt.Errorf("certFile %s: the assertion has %d octets with the chain of certificates; allowed: at most %d",
			c.CertFile, len(text), maxAssertion)
	}
	if err != nil {
		return nil, 0, err
	}
	return []byte(text), lifetime, nil
}

// minRSABits is the size of the smallest key that receivers accept.
const minRSABits = 2048

// algorithmOf returns the algorithm that a key signs with (RFC 7518 3.1).
func algorithmOf(key crypto.PrivateKey) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if bits := k.N.BitLen(); bits < minRSABits {
			return "", fmt.Errorf("the RSA key has %d bits; allowed: at least %d (RFC 7518 3.3)", bits, minRSABits)
		}
		return jose.RS256, nil
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return jose.ES256, nil
		case elliptic.P384():
			return jose.ES384, nil
		}
	}
	return "", errors.New("the key cannot sign an assertion; allowed: RSA with at least 2048 bits, ECDSA with P-256 or P-384")
}

// sign returns the compact serialization (RFC 7515 7.1).
func sign(key jose.SigningKey, header *jose.SignerOptions, body claims) (string, error) {
	signer, err := jose.NewSigner(key, header)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
