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
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// minSecret is the minimum size of a secret for HS256, in octets (RFC 7518 3.2).
const minSecret = 32

// parseKeys reads the keys for an algorithm: a JWK Set or a JWK (RFC 7517), PEM blocks with public keys or
// certificates, or a secret for HS256. Keys for other algorithms are not in the result.
func parseKeys(algorithm string, content []byte) (out []jose.JSONWebKey, err error) {
	switch text := bytes.TrimSpace(content); {
	case bytes.HasPrefix(text, []byte("{")):
		out, err = parseJWKs(text)
	case bytes.HasPrefix(text, []byte("-----BEGIN")):
		out, err = parsePEM(text)
	case algorithm == rv.TokenHS256:
		out = []jose.JSONWebKey{{Key: bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r"))}}
	default:
		return nil, errors.New("must be a JWK Set, or public keys or certificates in PEM")
	}
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(k jose.JSONWebKey) bool { return !fits(k.Key, algorithm) })
	if len(out) == 0 {
		return nil, fmt.Errorf("has no key for %s; allowed: %s", algorithm, fitting[algorithm])
	}
	for _, k := range out {
		if secret, ok := k.Key.([]byte); ok && len(secret) < minSecret {
			return nil, fmt.Errorf("the secret has %d bytes; HS256 needs at least %d (RFC 7518 3.2)", len(secret), minSecret)
		}
	}
	return out, nil
}

// fitting describes the keys of each algorithm. go-jose has the limit for the RSA keys of a JWK.
var fitting = map[string]string{
	rv.TokenHS256: "a secret, or a JWK of type oct",
	rv.TokenRS256: "RSA, with at most 4096 bits in a JWK",
	rv.TokenRS512: "RSA, with at most 4096 bits in a JWK",
	rv.TokenES256: "EC with P-256",
}

// fits returns whether a key verifies signatures of an algorithm (RFC 7518 3.1).
func fits(key any, algorithm string) bool {
	switch k := key.(type) {
	case []byte:
		return algorithm == rv.TokenHS256
	case *rsa.PublicKey:
		return algorithm == rv.TokenRS256 || algorithm == rv.TokenRS512
	case *ecdsa.PublicKey:
		return algorithm == rv.TokenES256 && k.Curve == elliptic.P256()
	}
	return false
}

func parsePEM(text []byte) (out []jose.JSONWebKey, err error) {
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
		out = append(out, jose.JSONWebKey{Key: public})
	}
}

// parseJWKs reads a JWK Set or a JWK. Keys of unknown types and keys for encryption are not in the result.
func parseJWKs(text []byte) (out []jose.JSONWebKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("JWK Set: %w", err)
	}
	if set.Keys == nil {
		set.Keys = []json.RawMessage{text}
	}
	for i := range set.Keys {
		var k jose.JSONWebKey
		if err := k.UnmarshalJSON(set.Keys[i]); errors.Is(err, jose.ErrUnsupportedKeyType) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("JWK %d: %s; allowed: parameters as in RFC 7518 6", i, strings.TrimPrefix(err.Error(),
				"go-jose/go-jose: "))
		}
		if public := k.Public(); public.Valid() {
			k = public
		}
		if k.Use == "" || k.Use == "sig" {
			out = append(out, k)
		}
	}
	return out, nil
}
