package loop

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/book"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/location"
)

// redirect is where the request of a step goes after a response with status 307 or 308 (RFC 9110 15.4.8, 15.4.9). An
// instance has one for each step that is being redirected.
type redirect struct {
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

// redirectOf returns the redirect of a step, which is empty if the step has none yet.
func (in *instance) redirectOf(step int32) *redirect {
	for i := range in.redirects {
		if in.redirects[i].step == step {
			return &in.redirects[i]
		}
	}
	n := len(in.redirects)
	if n < cap(in.redirects) {
		in.redirects = in.redirects[:n+1] // with the buffer of an earlier instance
	} else {
		in.redirects = append(in.redirects, redirect{})
	}
	x := &in.redirects[n]
	x.step, x.uri, x.elsewhere, x.origin = step, x.uri[:0], false, x.origin[:0]
	return x
}

// isRedirect returns whether a response asks for the same request at another URI. Other statuses of class 3xx allow or
// require another method (RFC 9110 15.4).
func isRedirect(s *chain.Step, status int16) bool {
	return s.MaxRedirects > 0 && (status == 307 || status == 308)
}

// mayFollow returns whether a redirect can be followed: it has a Location, the step was not redirected too often, and
// the request may go to the authority that it names.
func (w *Worker) mayFollow(r *book.Request, s *chain.Step) bool {
	return r.Located && int(r.Hop) < s.MaxRedirects && w.redirectTarget(r.Activation) != none
}

// takeAuthority stores whether the URI names another server than those of the target, and the origin of that server. If it
// does not, the origin stays that of the response, else that of the hop before.
func (x *redirect) takeAuthority(r *book.Request, own bool) {
	x.elsewhere = !own
	x.left = x.elsewhere || x.left && r.Hop > 0
	switch {
	case x.elsewhere:
		x.origin = append(append(append(x.origin[:0], x.Scheme...), "://"...), x.Authority...)
	case r.Hop == 0 && !r.Rooted:
		x.origin = x.origin[:0]
	}
}

// takeOrigin stores the origin that a response names in Step.RedirectField. A Location with another authority has
// precedence, and of several fields the first counts.
func (x *redirect) takeOrigin(r *book.Request, origin []byte) {
	if r.Rooted || r.Located && x.elsewhere {
		return
	}
	x.origin = append(x.origin[:0], origin...)
	r.SetRooted()
}

// redirectTarget returns the target of the request that follows a redirect, or none. A target that forwards requests gets
// this one, too.
func (w *Worker) redirectTarget(a chain.Activation) int32 {
	in, s := w.chains.at(a.Instance), &w.program.Steps[a.Step]
	if s.RedirectField != nil {
		return w.targets.route(in, s)
	}
	x := in.redirectOf(a.Step)
	return w.targets.of(int32(s.Target), x.Scheme, x.Authority)
}

// appendPath appends the path of the request that follows the redirect. A URI of the server that the target forwards
// requests to does not have the base path of the target.
func (x *redirect) appendPath(dst []byte, s *chain.Step, e *rv.Endpoint) []byte {
	if s.RedirectField != nil && x.elsewhere {
		dst = append(dst, e.BasePath...)
	}
	return append(dst, x.Path...)
}

// readdress replaces the path of a request that follows a redirect, and the field with the origin that the target forwards
// it to. The connection decides the authority. A request that has left its target has no secrets of the user any more: a response
// decided which server gets it.
func (w *Worker) readdress(r *book.Request, s *chain.Step, x *book.Exchange, e *rv.Endpoint) {
	if r.Hop == 0 {
		return
	}
	to := w.chains.at(r.Instance).redirectOf(r.Step)
	w.buffers.scratch = to.appendPath(w.buffers.scratch[:0], s, e)
	x.SetPath(w.buffers.scratch)
	switch {
	case s.RedirectField == nil && to.left:
		s.WithholdSecrets(x.Rendered(), w.sources, w.buffers.cookie)
	case s.RedirectField != nil && len(to.origin) > 0:
		x.Rendered().Set(s.RedirectField, to.origin)
	}
}
