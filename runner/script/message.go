package script

import (
	"fmt"
	"strings"

	"github.com/h2surge/h2surge/runner/message"
)

// Field is a header field; Name is lower case.
type Field = message.Field

// Message is a request or a response as a script sees it. The host may replace any slice; slices it sets stay valid
// until the next call of the Host.
type Message = message.Message

// Values are the variables and captures of a chain instance.
type Values interface {
	// Value is read at once: it may change with the next call.
	Value(name string) (v []byte, ok bool)
	// SetValue copies v. Only names that exist as captures of the chain can be set.
	SetValue(name string, v []byte) error
}

// notTChar marks the bytes that RFC 9110 section 5.6.2 does not allow in a token.
var notTChar = func() (t [256]bool) {
	for i := range t {
		c := byte(i)
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		t[i] = !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) || c >= 0x80
	}
	return t
}()

func isToken[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if notTChar[s[i]] {
			return false
		}
	}
	return len(s) > 0
}

// checkName follows RFC 9113 section 8.2.1, but for upper case letters, which become lower case.
func checkName[T ~string | ~[]byte](name T) error {
	if !isToken(name) {
		return fmt.Errorf("header name %q is not a token", name)
	}
	return nil
}

func checkValue[T ~string | ~[]byte](name string, v T) error {
	for i := range len(v) {
		if c := v[i]; c == 0 || c == '\r' || c == '\n' {
			return fmt.Errorf("header %q: the value has a CR, LF or NUL", name)
		}
	}
	return nil
}

// checkPseudo checks the value of a request's pseudo-header (RFC 9113 section 8.3.1), named without its colon.
func checkPseudo[T ~string | ~[]byte](name string, v T) error {
	ok := len(v) > 0
	switch name {
	case "method":
		ok = isToken(v)
	case "path":
		ok = ok && (v[0] == '/' || string(v) == "*") && visible(v)
	case "scheme":
		ok = ok && isToken(v)
	case "authority":
		ok = ok && visible(v)
	}
	if ok {
		return nil
	}
	return fmt.Errorf("%s %q: %s", name, shorten(string(v)), map[string]string{
		"method": "must be a token", "scheme": "must be a token",
		"path":      `must be "*" or begin with "/", without spaces or control characters`,
		"authority": "must be a host, without spaces or control characters",
	}[name])
}

func visible[T ~string | ~[]byte](v T) bool {
	for i := range len(v) {
		if v[i] <= ' ' || v[i] == 0x7f {
			return false
		}
	}
	return true
}

// shorten keeps messages readable.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// pseudoOf is the part of a request that a pseudo-header names, without its colon; nil for others.
func pseudoOf(m *Message, name string) *[]byte {
	switch name {
	case "method":
		return &m.Method
	case "scheme":
		return &m.Scheme
	case "authority":
		return &m.Authority
	case "path":
		return &m.Path
	}
	return nil
}
