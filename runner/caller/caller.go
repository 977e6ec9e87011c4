package caller

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// Policy is what a listener requires of its peers. A nil Policy accepts all.
type Policy struct {
	names []string
	token *tokenPolicy // nil: no token is needed
}

// NewPolicy reads what a listener of a plan requires. It is nil if the listener accepts all peers.
func NewPolicy(in *rv.Listener, readFile func(string) ([]byte, error)) (*Policy, error) {
	p := &Policy{}
	if in.TLS != nil {
		p.names = in.TLS.ClientNames
	}
	if in.Token != nil {
		var err error
		if p.token, err = newTokenPolicy(in.Token, readFile); err != nil {
			return nil, fmt.Errorf("token.%w", err)
		}
	}
	if len(p.names) == 0 && p.token == nil {
		return nil, nil
	}
	return p, nil
}

// Names returns whether a client certificate has one of the required names as a subject alternative name (RFC 5280
// 4.2.1.6): a DNS name, a URI or an IP address.
func (p *Policy) Names(certificates []*x509.Certificate) bool {
	if p == nil || len(p.names) == 0 {
		return true
	}
	return len(certificates) > 0 && slices.ContainsFunc(p.names,
		func(name string) bool { return isNamed(certificates[0], name) })
}

func isNamed(c *x509.Certificate, name string) bool {
	for _, n := range c.DNSNames {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	for _, u := range c.URIs {
		if sameURI(u.String(), name) {
			return true
		}
	}
	address := net.ParseIP(name)
	for _, a := range c.IPAddresses {
		if a.Equal(address) {
			return true
		}
	}
	return false
}

// sameURI compares the URNs of UUIDs without regard to case (RFC 8141 3.1, RFC 9562 4).
func sameURI(a, b string) bool {
	const uuid = "urn:uuid:"
	return a == b || len(a) > len(uuid) && strings.EqualFold(a[:len(uuid)], uuid) && strings.EqualFold(a, b)
}

// Verdict is what a check has found.
type Verdict uint8

const (
	// Accepted: the request is that of a permitted peer.
	Accepted Verdict = iota
	// WrongName: the client certificate has none of the required names.
	WrongName
	// NoToken: the request has no access token.
	NoToken
	// BadToken: the access token is not valid.
	BadToken
	// NoScope: the access token is valid, but does not have the required scope.
	NoScope
)

// Checker checks requests. It keeps valid tokens, so that a token is verified once. Only one goroutine may use it.
type Checker struct {
	policy *Policy
	// valid has the instant at which each token expires.
	valid map[string]int64
}

// maxValid bounds the tokens that a Checker keeps.
const maxValid = 1024

// NewChecker returns a checker of a policy.
func NewChecker(p *Policy) *Checker { return &Checker{policy: p} }

// Names calls that of the policy.
func (c *Checker) Names(certificates []*x509.Certificate) bool { return c.policy.Names(certificates) }

// Check decides about a request over a connection whose client certificate is named as required or not. now is the time
// of the wall clock, in nanoseconds since 1970.
func (c *Checker) Check(named bool, r *message.Message, now int64) Verdict {
	switch {
	case c.policy == nil:
		return Accepted
	case !named:
		return WrongName
	case c.policy.token == nil:
		return Accepted
	}
	token, ok := bearer(r)
	if !ok {
		return NoToken
	}
	if until, ok := c.valid[string(token)]; ok && now < until {
		return Accepted
	}
	until, v := c.policy.token.check(token, now)
	if v == Accepted {
		c.keep(token, until)
	}
	return v
}

func (c *Checker) keep(token []byte, until int64) {
	if c.valid == nil || len(c.valid) == maxValid {
		c.valid = map[string]int64{}
	}
	c.valid[string(token)] = until
}

// bearer returns the access token of a request (RFC 6750 2.1).
func bearer(r *message.Message) (token []byte, ok bool) {
	value, _ := r.Header("authorization")
	scheme, token, ok := bytes.Cut(value, []byte{' '})
	token = bytes.TrimLeft(token, " ")
	return token, ok && bytes.EqualFold(scheme, []byte("Bearer")) && len(token) > 0
}
