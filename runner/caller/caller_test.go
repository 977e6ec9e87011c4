package caller

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/test/certtest"
)

const (
	now    = 1_700_000_000_000_000_000
	secret = "0123456789abcdef0123456789abcdef"
)

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// newToken signs claims.
func newToken(t *testing.T, header, claims string, sign func(signed []byte) []byte) string {
	t.Helper()
	signed := encode([]byte(header)) + "." + encode([]byte(claims))
	return signed + "." + encode(sign([]byte(signed)))
}

func hs256(signed []byte) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	_, _ = m.Write(signed)
	return m.Sum(nil)
}

func publicPEM(t *testing.T, public any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func checkerOf(t *testing.T, in rv.TokenCheck, keys []byte) *Checker {
	t.Helper()
	p, err := NewPolicy(&rv.Listener{Token: &in}, func(string) ([]byte, error) { return keys, nil })
	if err != nil {
		t.Fatal(err)
	}
	return NewChecker(p)
}

func request(authorization string) *message.Message {
	m := &message.Message{}
	if authorization != "" {
		m.Fields = []message.Field{{Name: []byte("authorization"), Value: []byte(authorization)}}
	}
	return m
}

func TestClaims(t *testing.T) {
	const head, good = `{"alg":"HS256","typ":"JWT"}`, `{"iss":"nrf","aud":"AMF","exp":1700000100,"scope":"namf-evts namf-comm"}`
	in := rv.TokenCheck{Algorithm: rv.TokenHS256, Audience: "AMF", Issuer: "nrf", Scope: "namf-evts"}
	valid := newToken(t, head, good, hs256)
	claims := func(s string) string { return "Bearer " + newToken(t, head, s, hs256) }
	for name, tt := range map[string]struct {
		authorization string
		want          Verdict
	}{
		"valid":                 {"Bearer " + valid, Accepted},
		"another case":          {"bearer  " + valid, Accepted},
		"none":                  {"", NoToken},
		"another scheme":        {"Basic YTpi", NoToken},
		"empty":                 {"Bearer ", NoToken},
		"a list of audiences":   {claims(`{"iss":"nrf","aud":["SMF","AMF"],"exp":1700000100,"scope":"namf-evts"}`), Accepted},
		"expired":               {claims(`{"iss":"nrf","aud":"AMF","exp":1699999994,"scope":"namf-evts"}`), BadToken},
		"expired just now":      {claims(`{"iss":"nrf","aud":"AMF","exp":1699999996,"scope":"namf-evts"}`), Accepted},
		"without an end":        {claims(`{"iss":"nrf","aud":"AMF","scope":"namf-evts"}`), BadToken},
		"not valid yet":         {claims(`{"iss":"nrf","aud":"AMF","exp":1700000100,"nbf":1700000006,"scope":"namf-evts"}`), BadToken},
		"valid just now":        {claims(`{"iss":"nrf","aud":"AMF","exp":1700000100,"nbf":1700000004,"scope":"namf-evts"}`), Accepted},
		"of another audience":   {claims(`{"iss":"nrf","aud":"SMF","exp":1700000100,"scope":"namf-evts"}`), BadToken},
		"of another issuer":     {claims(`{"iss":"x","aud":"AMF","exp":1700000100,"scope":"namf-evts"}`), BadToken},
		"of another scope":      {claims(`{"iss":"nrf","aud":"AMF","exp":1700000100,"scope":"namf-evts-more"}`), NoScope},
		"a huge end":            {claims(`{"iss":"nrf","aud":"AMF","exp":1e300,"scope":"namf-evts"}`), Accepted},
		"claims of other types": {claims(`{"iss":1,"aud":{},"exp":"x"}`), BadToken},
		"not JSON":              {claims(`{`), BadToken},
		"not a token":           {"Bearer abc", BadToken},
		"four parts":            {"Bearer " + valid + ".a", BadToken},
		"not base64url":         {"Bearer a+b." + valid, BadToken},
		"another signature":     {"Bearer " + valid[:len(valid)-2] + "AA", BadToken},
		"no signature":          {"Bearer " + valid[:strings.LastIndexByte(valid, '.')+1], BadToken},
		"algorithm none":        {"Bearer " + newToken(t, `{"alg":"none"}`, good, func([]byte) []byte { return nil }), BadToken},
		"another algorithm":     {"Bearer " + newToken(t, `{"alg":"RS256"}`, good, hs256), BadToken},
		"a critical extension":  {"Bearer " + newToken(t, `{"alg":"HS256","crit":["x"]}`, good, hs256), BadToken},
	} {
		c := checkerOf(t, in, []byte(secret+"\n"))
		for range 2 { // the second time, the checker may know the token
			if got := c.Check(true, request(tt.authorization), now); got != tt.want {
				t.Errorf("%s: verdict %d, want %d", name, got, tt.want)
			}
		}
	}
}

// TestKnownTokenExpires: a token that was valid is refused after its end.
func TestKnownTokenExpires(t *testing.T) {
	c := checkerOf(t, rv.TokenCheck{Algorithm: rv.TokenHS256}, []byte(secret))
	r := request("Bearer " + newToken(t, `{"alg":"HS256"}`, `{"exp":1700000001}`, hs256))
	for _, tt := range []struct {
		at   int64
		want Verdict
	}{{now, Accepted}, {now + 6e9 - 1, Accepted}, {now + 6e9, BadToken}} {
		if got := c.Check(true, r, tt.at); got != tt.want {
			t.Errorf("at %d: verdict %d, want %d", tt.at, got, tt.want)
		}
	}
}

func TestSignatures(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs := func(h crypto.Hash) func([]byte) []byte {
		return func(signed []byte) []byte {
			sum := h.New()
			_, _ = sum.Write(signed)
			out, err := rsa.SignPKCS1v15(rand.Reader, rsaKey, h, sum.Sum(nil))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	es := func(signed []byte) []byte {
		sum := sha256.Sum256(signed)
		r, s, err := ecdsa.Sign(rand.Reader, ecKey, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	point, err := ecKey.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(map[string]any{"keys": []any{
		map[string]string{"kty": "RSA", "kid": "r", "use": "sig", "n": encode(rsaKey.N.Bytes()), "e": encode(big.NewInt(int64(rsaKey.E)).Bytes())},
		map[string]string{"kty": "EC", "kid": "e", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])},
		map[string]string{"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
		map[string]string{"kty": "oct", "kid": "h", "k": encode([]byte(secret))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	certified := []byte(certtest.Of(t, ecKey, x509.Certificate{}, nil).PEM())
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&rsaKey.PublicKey)})
	private, err := jose.JSONWebKey{Key: rsaKey, Use: "sig"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	_ = sha512.New // linked, for crypto.SHA512
	for name, tt := range map[string]struct {
		algorithm string
		keys      []byte
		header    string
		sign      func([]byte) []byte
		want      Verdict
	}{
		"RS256, PEM":               {rv.TokenRS256, publicPEM(t, &rsaKey.PublicKey), `{"alg":"RS256"}`, rs(crypto.SHA256), Accepted},
		"RS512, PKCS #1":           {rv.TokenRS512, pkcs1, `{"alg":"RS512"}`, rs(crypto.SHA512), Accepted},
		"RS256, set":               {rv.TokenRS256, set, `{"alg":"RS256","kid":"r"}`, rs(crypto.SHA256), Accepted},
		"RS256, private key":       {rv.TokenRS256, private, `{"alg":"RS256"}`, rs(crypto.SHA256), Accepted},
		"ES256, set":               {rv.TokenES256, set, `{"alg":"ES256"}`, es, Accepted},
		"ES256, certificate":       {rv.TokenES256, certified, `{"alg":"ES256"}`, es, Accepted},
		"HS256, set":               {rv.TokenHS256, set, `{"alg":"HS256","kid":"h"}`, hs256, Accepted},
		"another key id":           {rv.TokenES256, set, `{"alg":"ES256","kid":"r"}`, es, BadToken},
		"a short signature":        {rv.TokenES256, set, `{"alg":"ES256"}`, func(b []byte) []byte { return es(b)[:63] }, BadToken},
		"the public key as secret": {rv.TokenRS256, publicPEM(t, &rsaKey.PublicKey), `{"alg":"HS256"}`, hs256, BadToken},
		"signed with another hash": {rv.TokenRS256, set, `{"alg":"RS256"}`, rs(crypto.SHA512), BadToken},
	} {
		c := checkerOf(t, rv.TokenCheck{Algorithm: tt.algorithm}, tt.keys)
		r := request("Bearer " + newToken(t, tt.header, `{"exp":1800000000}`, tt.sign))
		if got := c.Check(true, r, now); got != tt.want {
			t.Errorf("%s: verdict %d, want %d", name, got, tt.want)
		}
	}
}

func TestKeyErrors(t *testing.T) {
	for name, tt := range map[string]struct{ algorithm, keys, want string }{
		"a short secret":   {rv.TokenHS256, "abc", "token.keysFrom: the secret has 3 bytes; HS256 needs at least 32 (RFC 7518 3.2)"},
		"text":             {rv.TokenRS256, "abc", "token.keysFrom: must be a JWK Set, or public keys or certificates in PEM"},
		"a duplicate":      {rv.TokenHS256, `{"kty":"oct","k":"AAAA","k":"AAAB"}`, "token.keysFrom: JWK 0: json: duplicate key 'k' in object; allowed: parameters as in RFC 7518 6"},
		"no key that fits": {rv.TokenRS256, `{"keys":[{"kty":"oct","k":"AAAA"}]}`, "token.keysFrom: has no key for RS256; allowed: RSA, with at most 4096 bits in a JWK"},
		"a long RSA key":   {rv.TokenRS256, `{"kty":"RSA","e":"AQAB","n":"` + encode(bytes.Repeat([]byte{0xff}, 513)) + `"}`, "token.keysFrom: has no key for RS256; allowed: RSA, with at most 4096 bits in a JWK"},
		"for encryption":   {rv.TokenHS256, `{"kty":"oct","use":"enc","k":"AAAA"}`, "token.keysFrom: has no key for HS256; allowed: a secret, or a JWK of type oct"},
		"broken JSON":      {rv.TokenRS256, `{`, "token.keysFrom: JWK Set: unexpected end of JSON input"},
		"not base64url":    {rv.TokenRS256, `{"kty":"RSA","n":"+","e":"AQAB"}`, "token.keysFrom: JWK 0: illegal base64 data at input byte 0; allowed: parameters as in RFC 7518 6"},
		"a large exponent": {rv.TokenRS256, `{"kty":"RSA","n":"AQAB","e":"____________"}`, "token.keysFrom: JWK 0: invalid RSA key, bad e value; allowed: parameters as in RFC 7518 6"},
		"a short point":    {rv.TokenES256, `{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`, "token.keysFrom: JWK 0: invalid EC public key, wrong length for x; allowed: parameters as in RFC 7518 6"},
		"a broken key":     {rv.TokenES256, "-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----", "token.keysFrom: PEM block PUBLIC KEY: "},
		"no key":           {rv.TokenES256, "-----BEGIN", "token.keysFrom: has no key for ES256; allowed: EC with P-256"},
	} {
		_, err := NewPolicy(&rv.Listener{Token: &rv.TokenCheck{Algorithm: tt.algorithm}}, func(string) ([]byte, error) { return []byte(tt.keys), nil })
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	var uris []*url.URL
	for _, s := range []string{"urn:uuid:1ab", "URN:UUID:2AB", "spiffe://core/Smf"} {
		uri, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, uri)
	}
	c := []*x509.Certificate{{DNSNames: []string{"SMF.example.org"}, URIs: uris,
		IPAddresses: []net.IP{net.ParseIP("192.0.2.1").To4(), net.ParseIP("2001:db8::a")}}}
	for _, tt := range []struct {
		name string
		c    []*x509.Certificate
		want bool
	}{
		{"smf.example.org", c, true},
		{"urn:uuid:1ab", c, true},
		{"urn:uuid:1AB", c, true},
		{"URN:uuid:2ab", c, true},
		{"urn:uuid:1", c, false},
		{"spiffe://core/Smf", c, true},
		{"spiffe://core/smf", c, false},
		{"192.0.2.1", c, true},
		{"192.0.2.2", c, false},
		{"2001:DB8:0::a", c, true},
		{"2001:db8::b", c, false},
		{"example.org", c, false},
		{"smf.example.org", nil, false},
	} {
		p, err := NewPolicy(&rv.Listener{TLS: &rv.ListenerTLS{ClientNames: []string{"other", tt.name}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Names(tt.c); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
		if v := NewChecker(p).Check(p.Names(tt.c), request(""), now); (v == Accepted) != tt.want || v != Accepted && v != WrongName {
			t.Errorf("%s: verdict %d", tt.name, v)
		}
	}
	if p, err := NewPolicy(&rv.Listener{TLS: &rv.ListenerTLS{}}, nil); p != nil || err != nil || !p.Names(nil) {
		t.Errorf("%v, %v; want no policy", p, err)
	}
}

// FuzzCheck: no token makes a checker panic, and a checker accepts only signed tokens.
func FuzzCheck(f *testing.F) {
	p, err := NewPolicy(&rv.Listener{Token: &rv.TokenCheck{Algorithm: rv.TokenHS256}}, func(string) ([]byte, error) { return []byte(secret), nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Add("e30.e30.")
	f.Add(encode([]byte(`{"alg":"HS256"}`)) + "." + encode([]byte(`{"exp":1e300,"aud":[null]}`)) + ".AA")
	f.Fuzz(func(t *testing.T, token string) {
		c := NewChecker(p)
		if v := c.Check(true, request("Bearer "+token), now); v == Accepted {
			t.Errorf("accepted %q", token)
		}
	})
}

// FuzzKeys: no file of keys makes a policy or a check panic, and a token that none of its keys has signed is refused.
func FuzzKeys(f *testing.F) {
	algorithms := []string{rv.TokenHS256, rv.TokenRS256, rv.TokenRS512, rv.TokenES256}
	for i := range algorithms {
		for _, keys := range []string{
			secret, `{"keys":[]}`, `{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`, `{"kty":"RSA","n":"AQ","e":"AQAB"}`,
			`{"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`,
			"-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----", `{"keys":[{"kty":"RSA","n":"AAAA","e":"AQAB"},null]}`,
		} {
			f.Add(i, []byte(keys))
		}
	}
	f.Fuzz(func(t *testing.T, algorithm int, keys []byte) {
		in := rv.TokenCheck{Algorithm: algorithms[uint(algorithm)%uint(len(algorithms))]}
		p, err := NewPolicy(&rv.Listener{Token: &in}, func(string) ([]byte, error) { return keys, nil })
		if err != nil {
			return
		}
		signed := encode([]byte(`{"alg":"`+in.Algorithm+`"}`)) + "." + encode([]byte(`{"exp":1800000000}`))
		for _, signature := range [][]byte{nil, make([]byte, 32), make([]byte, 64), make([]byte, 256)} {
			if v := NewChecker(p).Check(true, request("Bearer "+signed+"."+encode(signature)), now); v != BadToken {
				t.Errorf("keys %q: verdict %d of a signature of %d octets", keys, v, len(signature))
			}
		}
	})
}

// FuzzClaims: no claims that the issuer has signed make a checker panic, and the second check has the same verdict.
func FuzzClaims(f *testing.F) {
	in := rv.TokenCheck{Algorithm: rv.TokenHS256, Audience: "AMF", Issuer: "nrf", Scope: "namf-evts"}
	p, err := NewPolicy(&rv.Listener{Token: &in}, func(string) ([]byte, error) { return []byte(secret), nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"iss":"nrf","aud":"AMF","exp":1700000100,"scope":"namf-evts namf-comm"}`)
	f.Add(`{"iss":"nrf","aud":["SMF",null,"AMF"],"exp":1e300,"nbf":-1e300,"scope":"namf-evts"}`)
	f.Add(`{"aud":{"a":[]},"exp":null}`)
	f.Fuzz(func(t *testing.T, claims string) {
		c, r := NewChecker(p), request("Bearer "+newToken(t, `{"alg":"HS256"}`, claims, hs256))
		if first, second := c.Check(true, r, now), c.Check(true, r, now); first != second {
			t.Errorf("%s: verdict %d, then %d", claims, first, second)
		}
	})
}
