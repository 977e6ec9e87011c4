// Package mask changes what other machines sent before a person sees it: it hides values that may be secret, and
// escapes characters that would steer a terminal.
package mask

import (
	"regexp"
	"strings"

	"github.com/h2surge/h2surge/internal/lazy"
)

// Hidden stands for a value that is not shown.
const Hidden = "***"

// name matches names of header fields, of query parameters and of JSON members whose values may be secret.
const name = `(?:[\w.-]*(?:token|secret|password|passwd|credential|key|private|authorization|authenticat|cookie|session)[\w.-]*|` + usim + `)`

// usim matches names of keys of a USIM and of keys derived from them: in TS 29.503, TS 29.505, TS 29.509 and TS 29.518,
// and in earlier versions of them.
const usim = `t?opc(?:value)?|opvalue|k(?:ausf|seaf|amf|asme)`

// quoted matches a value in quotes, which are escaped in a JSON string. A quote before a comma, a colon, a bracket or
// white space is the end of the JSON string that has the parameter.
const quoted = `"(?:[^"\\,:}\]\s]|\\.)(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'|'[^"]*|\\"(?:\\\\\\"|[^"\\]|\\[^"])*(?:\\")?`

var (
	field  = lazy.Regexp(`(?i)^` + name + `$`)
	member = lazy.Regexp(`(?i)"(` + name + `)"\s*:\s*("(?:[^"\\]|\\.)*"?|[^\s,}\]"]+)`)
	// param takes the description of a secret, which has spaces, as a whole.
	param = lazy.Regexp(`(?i)\b(` + name + `)=(<[^>]*>|` + quoted + `|[^&\s"';,]+)`)
	// public is what makes public names match: a PDU session of the 5G core is not one of a user agent,
	// authenticationMethod (TS 29.505) is the name of a method, and an idempotency key is a number of a request.
	public = lazy.Regexp(`(?i)pdu-?session|authentication-?(?:method|type|managementfield)|` +
		`key[_-]?(?:type|word|board)|(?:public|idempotency)[_-]?key`)
	scheme = lazy.Regexp(`(?i)\b((?:bearer|basic)\s+)[\w.~+/=-]{6,}`)
)

// IsSecret reports whether the value of a header field, parameter or JSON member with this name may be secret.
func IsSecret(fieldName string) bool {
	return field().MatchString(fieldName) && field().MatchString(public().ReplaceAllString(fieldName, ""))
}

// Text hides the values of JSON members and parameters with secret names, and credentials that follow an
// authentication scheme.
func Text(s string) string {
	s = hide(member(), s, `"`+Hidden+`"`)
	s = hide(param(), s, Hidden)
	return scheme().ReplaceAllString(s, "${1}"+Hidden)
}

// hide replaces the second group of each match whose first group is a secret name.
func hide(re *regexp.Regexp, s, by string) string {
	var out strings.Builder
	end := 0
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		if at[0] < end {
			continue // in an object that is hidden
		}
		value, after := by, at[5]
		switch {
		case !IsSecret(s[at[2]:at[3]]):
			value = hide(re, s[at[4]:at[5]], by) // which may have secrets in it
		case re == member():
			after = max(after, at[4]+length(s[at[4]:]))
		}
		out.WriteString(s[end:at[4]] + value)
		end = after
	}
	return out.String() + s[end:]
}

// length returns the length of the JSON object or array that a text begins with. It is that of the text if the end was
// cut off, and
// 0 if the text begins with another value.
func length(s string) int {
	depth, inString := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 0 {
			if i == 0 {
				return 0
			}
			return i + 1
		}
	}
	return len(s)
}
