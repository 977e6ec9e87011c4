package listen

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/caller"
	"github.com/h2surge/h2surge/runner/chain"
)

// refuse counts a notification of a peer that the listener does not accept.
func (l *listener) refuse(v caller.Verdict) {
	if v == caller.WrongName {
		l.refusedCertificate++
		return
	}
	l.refusedToken++
}

// refusal is the response to a notification of a peer that the listener does not accept.
type refusal struct{ block, body []byte }

var refusals = [...]refusal{
	caller.WrongName: newRefusal(403, "Forbidden", "the client certificate has none of the required names", ""),
	caller.NoToken:   newRefusal(401, "Unauthorized", "the request has no access token", "Bearer"),
	caller.BadToken:  newRefusal(401, "Unauthorized", "the access token is not valid", `Bearer error="invalid_token"`),
	caller.NoScope: newRefusal(403, "Forbidden", "the access token does not have the required scope",
		`Bearer error="insufficient_scope"`),
}

// newRefusal makes a response with problem details (RFC 9457) and, if there is one, a challenge (RFC 6750 3).
func newRefusal(status int, title, detail, challenge string) (r refusal) {
	headers := []rv.ListenerHeader{{Name: "content-type", Value: "application/problem+json"}}
	if challenge != "" {
		headers = append(headers, rv.ListenerHeader{Name: "www-authenticate", Value: challenge})
	}
	r.body = fmt.Appendf(nil, `{"title":%q,"status":%d,"detail":%q}`, title, status, detail)
	r.block = chain.AppendResponse(nil, status, headers, r.body)
	return r
}
