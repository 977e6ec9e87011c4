package flow

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/location"
	"github.com/h2surge/h2surge/runner/message"
)

// Redirect is where the request of a step goes after a response with status 307 or 308 (RFC 9110 15.4.8, 15.4.9). An
// instance has one for each step that is being redirected.
type Redirect struct {
	step int32
	// uri is the resolved Location. Reference has its parts.
	uri []byte
	location.Reference
	// elsewhere is true if the authority of the URI is not one of the target that answered.
	elsewhere bool
	// left is true from the first redirect of the attempt to such an authority on.
	left bool
	// origin is the next value of Step.RedirectField. Empty: the field does not change.
	origin []byte
}

// RedirectOf returns the redirect of a step, which is empty if the step has none yet.
func (in *Instance) RedirectOf(step int32) *Redirect {
	for i := range in.redirects {
		if in.redirects[i].step == step {
			return &in.redirects[i]
		}
	}
	n := len(in.redirects)
	if n < cap(in.redirects) {
		in.redirects = in.redirects[:n+1] // with the buffer of an earlier instance
	} else {
		in.redirects = append(in.redirects, Redirect{})
	}
	x := &in.redirects[n]
	x.step, x.uri, x.elsewhere, x.origin = step, x.uri[:0], false, x.origin[:0]
	return x
}

// Resolve stores a Location, resolved against the URI of the request (RFC 9110 10.2.2). It returns false if it is not
// valid.
func (x *Redirect) Resolve(scheme, authority, path, value []byte) bool {
	uri, ref, err := location.AppendResolved(x.uri[:0], scheme, authority, path, value)
	if err != nil {
		return false
	}
	x.uri, x.Reference = uri, ref
	return true
}

// SetOwn stores whether the URI names the target that answered. If it does not, the origin is that of the URI. If it
// does, the origin stays that of the response, which is rooted if it has one, else that of the hop before.
func (x *Redirect) SetOwn(own bool, hop uint8, rooted bool) {
	x.elsewhere = !own
	x.left = x.elsewhere || x.left && hop > 0
	switch {
	case x.elsewhere:
		x.origin = append(append(append(x.origin[:0], x.Scheme...), "://"...), x.Authority...)
	case hop == 0 && !rooted:
		x.origin = x.origin[:0]
	}
}

// SetOrigin stores the origin that a response names in Step.RedirectField. A Location with another authority, if the
// response has one (located), has precedence: then it returns false.
func (x *Redirect) SetOrigin(origin []byte, located bool) bool {
	if located && x.elsewhere {
		return false
	}
	x.origin = append(x.origin[:0], origin...)
	return true
}

// AppendPath appends the path of the request that follows the redirect. A URI of the server behind the target does not
// have the base path of the target (3GPP TS 29.500 6.10.2).
func (x *Redirect) AppendPath(dst []byte, s *chain.Step, e *rv.Endpoint) []byte {
	if s.RedirectField != nil && x.elsewhere {
		dst = append(dst, e.BasePath...)
	}
	return append(dst, x.Path...)
}

// Readdress changes the request that follows the redirect, apart from its path: it sets the field with the origin that
// the target forwards it to. A request that has left its target has no secrets of the user any more: a response decided
// which server gets it.
func (x *Redirect) Readdress(m *message.Message, s *chain.Step, src *chain.Sources, cookie []byte) {
	switch {
	case s.RedirectField == nil && x.left:
		s.WithholdSecrets(m, src, cookie)
	case s.RedirectField != nil && len(x.origin) > 0:
		m.Set(s.RedirectField, x.origin)
	}
}
