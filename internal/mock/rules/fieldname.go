package rules

import (
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// fieldNameProblem returns the error in the name of a header field, or "". HTTP/2 allows lower case only (RFC 9113
// section 8.2.1).
func fieldNameProblem(name string) string {
	rest, pseudo := strings.CutPrefix(name, ":")
	switch {
	case rest == "":
		return "is missing"
	case pseudo && name != ":method" && name != ":path" && name != ":authority" && name != ":scheme":
		return name + " is not a pseudo-header field of a request"
	}
	switch {
	case strings.ToLower(rest) != rest:
		return "must be in lower case (RFC 9113 section 8.2.1)"
	case !octet.IsToken(rest):
		return "has a character that is not allowed in field names (RFC 9110 section 5.1)"
	}
	return ""
}

// connectionFields mean nothing in HTTP/2 (RFC 9113 section 8.2.2).
var connectionFields = map[string]bool{
	"connection": true, "proxy-connection": true, "keep-alive": true, "transfer-encoding": true, "upgrade": true,
}

// notificationFieldProblem is fieldNameProblem for a notification.
func notificationFieldProblem(name string) string {
	if strings.HasPrefix(name, ":") {
		return "is a pseudo-header field; set uri and method instead"
	}
	return responseFieldProblem(name)
}

// responseFieldProblem is fieldNameProblem for a response.
func responseFieldProblem(name string) string {
	switch {
	case strings.HasPrefix(name, ":"):
		return "is a pseudo-header field; set status instead"
	case connectionFields[name]:
		return name + " is not allowed in HTTP/2 (RFC 9113 section 8.2.2)"
	case name == "content-length":
		return "is computed"
	}
	return fieldNameProblem(name)
}

// validValue reports whether a field may have that value (RFC 9113 section 8.2.1).
func validValue(v []byte) bool {
	return octet.IsFieldText(v) && len(octet.TrimBlanks(v)) == len(v)
}
