package caller

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// tokenPolicy is what a token must be.
type tokenPolicy struct {
	algorithm               string
	keys                    []key
	audience, issuer, scope string
}

// leeway is how far the clocks of the issuer of a token and of the runner may differ.
const leeway = 5 * time.Second

func newTokenPolicy(in *rv.TokenCheck, readFile func(string) ([]byte, error)) (*tokenPolicy, error) {
	content, err := readFile(in.KeysFile)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	p := &tokenPolicy{algorithm: in.Algorithm, audience: in.Audience, issuer: in.Issuer, scope: in.Scope}
	if p.keys, err = parseKeys(in.Algorithm, content); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return p, nil
}

// claims are those of RFC 7519 4.1 and RFC 8693 4.2 that are checked.
type claims struct {
	Issuer    string   `json:"iss"`
	Audience  audience `json:"aud"`
	Expires   *float64 `json:"exp"`
	NotBefore *float64 `json:"nbf"`
	Scope     string   `json:"scope"`
}

// audience is a string or a list of strings (RFC 7519 4.1.3).
type audience []string

func (a *audience) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*a = audience{""}
		return json.Unmarshal(b, &(*a)[0])
	}
	return json.Unmarshal(b, (*[]string)(a))
}

// check verifies a token, and returns when it expires.
func (p *tokenPolicy) check(token []byte, now int64) (until int64, v Verdict) {
	payload, ok := p.verify(token)
	if !ok {
		return 0, BadToken
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil || c.Expires == nil {
		return 0, BadToken
	}
	until = instant(*c.Expires, leeway)
	switch {
	case now >= until || c.NotBefore != nil && now < instant(*c.NotBefore, -leeway):
		return 0, BadToken
	case p.issuer != "" && c.Issuer != p.issuer || p.audience != "" && !slices.Contains(c.Audience, p.audience):
		return 0, BadToken
	case p.scope != "" && !slices.Contains(strings.Fields(c.Scope), p.scope):
		return 0, NoScope
	}
	return until, Accepted
}

// instant returns a NumericDate (RFC 7519 2) plus a duration, in nanoseconds since 1970.
func instant(seconds float64, d time.Duration) int64 {
	ns := seconds*1e9 + float64(d)
	return int64(max(math.MinInt64/2, min(math.MaxInt64/2, ns)))
}

// verify checks the signature of a token (RFC 7515 5.2), and returns its payload.
func (p *tokenPolicy) verify(token []byte) (payload []byte, ok bool) {
	at := bytes.LastIndexByte(token, '.')
	if at < 0 || bytes.Count(token, []byte{'.'}) != 2 {
		return nil, false
	}
	signed := token[:at]
	head, body, _ := bytes.Cut(signed, []byte{'.'})
	rawHead, ok1 := decode(head)
	payload, ok2 := decode(body)
	signature, ok3 := decode(token[at+1:])
	var h struct {
		Algorithm string          `json:"alg"`
		Key       string          `json:"kid"`
		Critical  json.RawMessage `json:"crit"`
	}
	// The header does not choose the algorithm, so "none" and a public key as an HMAC secret have no effect (RFC 8725 3.1).
	if !ok1 || !ok2 || !ok3 || json.Unmarshal(rawHead, &h) != nil || h.Algorithm != p.algorithm || h.Critical != nil {
		return nil, false
	}
	return payload, slices.ContainsFunc(p.keys, func(k key) bool {
		return (h.Key == "" || k.id == "" || h.Key == k.id) && k.verify(p.algorithm, signed, signature)
	})
}

func decode(b []byte) ([]byte, bool) {
	out, err := base64.RawURLEncoding.AppendDecode(nil, b)
	return out, err == nil
}

// verify checks a signature (RFC 7518 3.1).
func (k *key) verify(algorithm string, signed, signature []byte) bool {
	switch algorithm {
	case rv.TokenHS256:
		mac := hmac.New(sha256.New, k.secret)
		_, _ = mac.Write(signed) // never fails
		return hmac.Equal(mac.Sum(nil), signature)
	case rv.TokenRS256:
		sum := sha256.Sum256(signed)
		return rsa.VerifyPKCS1v15(k.rsa, crypto.SHA256, sum[:], signature) == nil
	case rv.TokenRS512:
		sum := sha512.Sum512(signed)
		return rsa.VerifyPKCS1v15(k.rsa, crypto.SHA512, sum[:], signature) == nil
	case rv.TokenES256:
		sum := sha256.Sum256(signed)
		const half = 32
		return len(signature) == 2*half && ecdsa.Verify(k.ecdsa, sum[:], new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:]))
	}
	return false
}
