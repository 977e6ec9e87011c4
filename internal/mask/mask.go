// Package mask hides values that may be secret in requests and responses that are shown to a person.
package mask

import "github.com/h2surge/h2surge/internal/lazy"

// Hidden stands for a value that is not shown.
const Hidden = "***"

// name matches names of header fields, of query parameters and of JSON members whose values may be secret.
const name = `[\w.-]*(?:token|secret|password|passwd|credential|api[_-]?key|private|authorization|authenticat|cookie|session)[\w.-]*`

var (
	field  = lazy.Regexp(`(?i)^` + name + `$`)
	member = lazy.Regexp(`(?i)("` + name + `"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^\s,}\]"]+)`)
	param  = lazy.Regexp(`(?i)\b(` + name + `=)[^&\s"';,]+`)
	scheme = lazy.Regexp(`(?i)\b((?:bearer|basic)\s+)[\w.~+/=-]{6,}`)
)

// IsSecret reports whether the value of a header field, parameter or JSON member with this name may be secret.
func IsSecret(fieldName string) bool { return field().MatchString(fieldName) }

// Text hides the values of JSON members and parameters with secret names, and credentials that follow an
// authentication scheme.
func Text(s string) string {
	s = member().ReplaceAllString(s, `${1}"`+Hidden+`"`)
	s = param().ReplaceAllString(s, "${1}"+Hidden)
	return scheme().ReplaceAllString(s, "${1}"+Hidden)
}
