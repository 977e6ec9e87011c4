package caller

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// tokenPolicy is what a token must be.
type tokenPolicy struct {
	algorithms              []jose.SignatureAlgorithm // one
	keys                    keySet
	audience, issuer, scope string
}

// leeway is how far the clocks of the issuer of a token and of the runner may differ.
const leeway = 5 * time.Second

func newTokenPolicy(in *rv.TokenCheck, readFile func(string) ([]byte, error)) (*tokenPolicy, error) {
	p := &tokenPolicy{algorithms: []jose.SignatureAlgorithm{jose.SignatureAlgorithm(in.Algorithm)}, audience: in.Audience,
		issuer: in.Issuer, scope: in.Scope}
	p.keys.read = func() ([]jose.JSONWebKey, error) {
		content, err := readFile(in.KeysFile)
		if err != nil {
			return nil, err
		}
		return parseKeys(in.Algorithm, content)
	}
	if err := p.keys.load(); err != nil {
		return nil, fmt.Errorf("keysFrom: %w", err)
	}
	return p, nil
}

// claims are those of RFC 7519 4.1 and RFC 8693 4.2 that are checked.
type claims struct {
	Issuer    string       `json:"iss"`
	Audience  jwt.Audience `json:"aud"`
	Expires   *float64     `json:"exp"`
	NotBefore *float64     `json:"nbf"`
	Scope     string       `json:"scope"`
}

// check verifies a token, and returns when it expires.
func (p *tokenPolicy) check(token []byte, now int64) (until int64, v Verdict) {
	c, ok := p.verify(token)
	if !ok || c.Expires == nil {
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

// verify checks the signature of a token (RFC 7515 5.2), and returns its claims.
func (p *tokenPolicy) verify(token []byte) (c claims, ok bool) {
	// The header does not choose the algorithm, so "none" and a public key as an HMAC secret have no effect (RFC 8725
	// 3.1).
	t, err := jwt.ParseSigned(string(token), p.algorithms)
	if err != nil {
		return c, false
	}
	id := t.Headers[0].KeyID
	return c, slices.ContainsFunc(*p.keys.keys.Load(), func(k jose.JSONWebKey) bool {
		return (id == "" || k.KeyID == "" || id == k.KeyID) && t.Claims(k.Key, &c) == nil
	})
}
