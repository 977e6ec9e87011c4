package compile

import (
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// validPath allows what may stand in a request's path and query without encoding, and some
// characters more that servers commonly take raw, such as | and {. White space, control
// characters, bytes above ASCII and # would be cut off, or change where the path ends.
func validPath(s string) bool {
	return octet.AllVisible(s) && !strings.Contains(s, "#")
}

// refusedNames are all for which headerProblem has something to say and which are tokens.
var refusedNames = []string{
	"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "te", "content-length", "host",
}

// headerProblem says why a request header field cannot be sent, or nothing. The name is lower
// case; value is the field's whole text as written.
func headerProblem(name, value string) string {
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return "is specific to a connection and is not possible in HTTP/2 (RFC 9113 8.2.2)"
	case "te":
		if !strings.EqualFold(value, "trailers") {
			return "may only have the value trailers (RFC 9113 8.2.2)"
		}
	case "content-length":
		return "is set from the body"
	case "host":
		return "is set from the target's url; to dial another address than the url's, use connectTo"
	}
	switch {
	case name == "":
		return "is needed"
	case strings.HasPrefix(name, ":"):
		return "is a pseudo-header; method, path and the target's url set those"
	case !octet.IsToken(name):
		return "must be a token: letters, digits and !#$%&'*+-.^_`|~ (RFC 9110 5.6.2)"
	}
	return ""
}
