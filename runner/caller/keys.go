package caller

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"math/big"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// key verifies tokens. One of secret, rsa and ecdsa is set.
type key struct {
	id     string // kid; empty: none
	secret []byte
	rsa    *rsa.PublicKey
	ecdsa  *ecdsa.PublicKey // of P-256
}

// minSecret is the minimum size of a secret for HS256, in octets (RFC 7518 3.2).
const minSecret = 32

// parseKeys reads the keys for an algorithm: a JWK Set or a JWK (RFC 7517), PEM blocks with public keys or certificates,
// or a secret for HS256. Keys for other algorithms are not in the result.
func parseKeys(algorithm string, content []byte) (out []key, err error) {
	switch text := bytes.TrimSpace(content); {
	case bytes.HasPrefix(text, []byte("{")):
		out, err = parseJWKs(text)
	case bytes.HasPrefix(text, []byte("-----BEGIN")):
		out, err = parsePEM(text)
	case algorithm == rv.TokenHS256:
		out = []key{{secret: bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r"))}}
	default:
		return nil, errors.New("must be a JWK Set, or public keys or certificates in PEM")
	}
	if err != nil {
		return nil, err
	}
	keys := out[:0]
	for _, k := range out {
		if k.fits(algorithm) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("has no key for %s", algorithm)
	}
	for _, k := range keys {
		if algorithm == rv.TokenHS256 && len(k.secret) < minSecret {
			return nil, fmt.Errorf("the secret has %d bytes; HS256 needs at least %d (RFC 7518 3.2)", len(k.secret), minSecret)
		}
	}
	return keys, nil
}

func (k *key) fits(algorithm string) bool {
	switch algorithm {
	case rv.TokenHS256:
		return k.secret != nil
	case rv.TokenES256:
		return k.ecdsa != nil
	}
	return k.rsa != nil
}

func parsePEM(text []byte) (out []key, err error) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return out, nil
		}
		var public any
		switch b.Type {
		case "PUBLIC KEY":
			public, err = x509.ParsePKIXPublicKey(b.Bytes)
		case "RSA PUBLIC KEY":
			public, err = x509.ParsePKCS1PublicKey(b.Bytes)
		case "CERTIFICATE":
			var c *x509.Certificate
			if c, err = x509.ParseCertificate(b.Bytes); err == nil {
				public = c.PublicKey
			}
		}
		if err != nil {
			return nil, fmt.Errorf("PEM block %s: %w", b.Type, err)
		}
		out = append(out, publicKey(public))
	}
}

// publicKey returns a key that fits no algorithm if the type of the public key is another one.
func publicKey(public any) (k key) {
	switch p := public.(type) {
	case *rsa.PublicKey:
		k.rsa = p
	case *ecdsa.PublicKey:
		if p.Curve == elliptic.P256() {
			k.ecdsa = p
		}
	}
	return k
}

// jwk is a JSON Web Key (RFC 7517, RFC 7518 6).
type jwk struct {
	Type  string `json:"kty"`
	ID    string `json:"kid"`
	Curve string `json:"crv"`
	X, Y  string
	N, E  string
	K     string
	Use   string `json:"use"`
}

func parseJWKs(text []byte) (out []key, err error) {
	var set struct {
		Keys []jwk `json:"keys"`
		jwk
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("JWK Set: %w", err)
	}
	if set.Keys == nil {
		set.Keys = []jwk{set.jwk}
	}
	for i := range set.Keys {
		k, err := set.Keys[i].key()
		if err != nil {
			return nil, fmt.Errorf("JWK %d: %w", i, err)
		}
		out = append(out, k)
	}
	return out, nil
}

// key returns a key that fits no algorithm if the type or the use of the JWK is another one.
func (j *jwk) key() (k key, err error) {
	if j.Use != "" && j.Use != "sig" {
		return k, nil
	}
	k.id = j.ID
	switch {
	case j.Type == "oct":
		k.secret, err = j.field("k", j.K)
	case j.Type == "RSA":
		k.rsa, err = j.rsa()
	case j.Type == "EC" && j.Curve == "P-256":
		k.ecdsa, err = j.p256()
	}
	return k, err
}

func (j *jwk) field(name, value string) ([]byte, error) {
	b, ok := decode([]byte(value))
	if !ok || len(b) == 0 {
		return nil, fmt.Errorf("%s is not base64url (RFC 7518 2)", name)
	}
	return b, nil
}

func (j *jwk) rsa() (*rsa.PublicKey, error) {
	n, err := j.field("n", j.N)
	if err != nil {
		return nil, err
	}
	raw, err := j.field("e", j.E)
	if err != nil {
		return nil, err
	}
	e := new(big.Int).SetBytes(raw)
	if e.BitLen() > 31 || e.Int64() > math.MaxInt32 {
		return nil, errors.New("e is too large")
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(e.Int64())}, nil
}

func (j *jwk) p256() (*ecdsa.PublicKey, error) {
	x, err := j.field("x", j.X)
	if err != nil {
		return nil, err
	}
	y, err := j.field("y", j.Y)
	if err != nil {
		return nil, err
	}
	const size = 32
	if len(x) != size || len(y) != size {
		return nil, fmt.Errorf("x and y have %d and %d bytes, not %d (RFC 7518 6.2.1)", len(x), len(y), size)
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
}
