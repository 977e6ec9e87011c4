package chain

import "github.com/h2surge/h2surge/runner/fiveg"

// Credential is a header field of the requests to a target that the runner gets a value for: an Authorization or a
// client assertion. The Authorization of target t has number t. Its client assertion has number t + n, where n is the
// number of targets.
type Credential int

const authorizationName = "authorization"

// Authorization returns the credential for the Authorization of a target.
func (g *Program) Authorization(target int) Credential { return Credential(target) }

// Assertion returns the credential for the client assertion of a target.
func (g *Program) Assertion(target int) Credential { return Credential(target + len(g.Targets)) }

// TargetOf returns the target of a credential, and whether the credential is a client assertion.
func (g *Program) TargetOf(c Credential) (target int, assertion bool) {
	n := len(g.Targets)
	return int(c) % n, int(c) >= n
}

// credentialFields returns the credentials of requests to a target, except those that the request has itself.
func (g *Program) credentialFields(target int, has map[string]bool) (out []fieldSource) {
	t := &g.Targets[target]
	if t.Auth != nil && !has[authorizationName] {
		out = append(out, credentialField(authorizationName, g.Authorization(target)))
	}
	if t.ClientAssertion != nil && !has[fiveg.ClientCredentials] {
		out = append(out, credentialField(fiveg.ClientCredentials, g.Assertion(target)))
	}
	return out
}

func credentialField(name string, c Credential) fieldSource {
	return fieldSource{name: name, value: text{{kind: pieceCredential, index: int(c)}}, omitEmpty: true}
}

// credential returns the credential of a field, if it has one.
func (f *fieldSource) credential() (c Credential, ok bool) {
	if len(f.value) != 1 || f.value[0].kind != pieceCredential {
		return 0, false
	}
	return Credential(f.value[0].index), true
}

// SetCredential sets the value of a credential, and copies value. Requests do not have the field if value is empty.
func (s *Sources) SetCredential(c Credential, value []byte) {
	s.credentials[c] = append([]byte(nil), value...)
}

// Withhold sets whether the next request does not have the credentials of its target, because it goes to an authority
// from a response, and not from the plan.
func (s *Sources) Withhold(yes bool) { s.withhold = yes }

// credential returns the value of a credential for the next request, or an empty value.
func (s *Sources) credential(c Credential) []byte {
	if s.withhold {
		return nil
	}
	return s.credentials[c]
}
