package fiveg

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/certtest"
)

// signedBy writes a key and its certificate, and returns an assertion that they sign.
func signedBy(t *testing.T, key crypto.Signer) (*rv.ClientAssertion, *certtest.Pair) {
	t.Helper()
	pair := certtest.Of(t, key, x509.Certificate{Subject: pkix.Name{CommonName: "nf"}}, nil)
	c := &rv.ClientAssertion{Subject: "4947a69a-f61b-4bc1-b9da-47c9c5d14b64", Audience: []string{"UDM", "NRF"}, Lifetime: time.Minute}
	c.CertFile, c.KeyFile = pair.Write(t, t.TempDir())
	return c, pair
}

func rsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ecdsaKey(t *testing.T, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// verified reports whether the signature of a JWS is that of the key, by RFC 7518 3.3 and 3.4.
func verified(key crypto.PublicKey, algorithm, content string, signature []byte) bool {
	sum := sha256.Sum256([]byte(content))
	switch k := key.(type) {
	case *rsa.PublicKey:
		return algorithm == "RS256" && rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil
	case *ecdsa.PublicKey:
		half := len(signature) / 2
		r, s := new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])
		if k.Curve == elliptic.P384() {
			long := sha512.Sum384([]byte(content))
			return algorithm == "ES384" && half == 48 && ecdsa.Verify(k, long[:], r, s)
		}
		return algorithm == "ES256" && half == 32 && ecdsa.Verify(k, sum[:], r, s)
	}
	return false
}

func TestAssertion(t *testing.T) {
	now := time.Unix(1_800_000_000, 999_999_999)
	for name, key := range map[string]crypto.Signer{"RS256": rsaKey(t), "ES256": ecdsaKey(t, elliptic.P256()), "ES384": ecdsaKey(t, elliptic.P384())} {
		t.Run(name, func(t *testing.T) {
			c, pair := signedBy(t, key)
			value, lifetime, err := SignAssertion(c, now)
			if err != nil || lifetime != time.Minute {
				t.Fatalf("%v, %v", lifetime, err)
			}
			parts := strings.Split(string(value), ".")
			if len(parts) != 3 {
				t.Fatalf("%s", value)
			}
			var decoded [3][]byte
			for i, part := range parts {
				if decoded[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
					t.Fatal(err)
				}
			}
			const want = `{"sub":"4947a69a-f61b-4bc1-b9da-47c9c5d14b64","iat":1800000000,"exp":1800000060,"aud":["UDM","NRF"]}`
			if diff := cmp.Diff(want, string(decoded[1])); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			var header map[string]any
			if err := json.Unmarshal(decoded[0], &header); err != nil {
				t.Fatal(err)
			}
			wantHeader := map[string]any{"alg": name, "typ": "JWT", "x5c": []any{base64.StdEncoding.EncodeToString(pair.Raw)}}
			if diff := cmp.Diff(wantHeader, header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if !verified(key.Public(), name, parts[0]+"."+parts[1], decoded[2]) {
				t.Error("wrong signature")
			}
		})
	}
}

func TestAssertionErrors(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := signedBy(t, ecdsaKey(t, elliptic.P256()))
	for _, tc := range []struct {
		name   string
		key    crypto.Signer
		change func(*rv.ClientAssertion)
		want   string
	}{
		{"Ed25519", ed, func(*rv.ClientAssertion) {}, "keyFile "},
		{"P-521", ecdsaKey(t, elliptic.P521()), func(*rv.ClientAssertion) {}, "allowed: RSA with at least 2048 bits, ECDSA with P-256 or P-384"},
		{"RSA with 1024 bits", short, func(*rv.ClientAssertion) {}, "the RSA key has 1024 bits; allowed: at least 2048 (RFC 7518 3.3)"},
		{"no file", rsaKey(t), func(c *rv.ClientAssertion) { c.CertFile += "x" }, "no such file"},
		{"the key of another certificate", rsaKey(t), func(c *rv.ClientAssertion) { c.KeyFile = other.KeyFile }, "keyFile " + other.KeyFile},
		{"too long", rsaKey(t), func(c *rv.ClientAssertion) { c.Subject = strings.Repeat("a", maxAssertion) }, "allowed: at most 12288"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := signedBy(t, tc.key)
			tc.change(c)
			if value, _, err := SignAssertion(c, time.Now()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q, %v, want an error with %q", value, err, tc.want)
			}
		})
	}
}
