package script

import (
	"fmt"

	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/message"
)

// Field is a header field; Name is lower case.
type Field = message.Field

// Message is a request or a response as a script sees it. The Host can replace any slice. Slices that it sets are valid
// until its next call.
type Message = message.Message

// Values are the variables and captures of a chain instance.
type Values interface {
	// Value returns v, which is valid until the next call.
	Value(name string) (v []byte, ok bool)
	// SetValue copies v. It returns an error if the chain has no capture of this name.
	SetValue(name string, v []byte) error
}

// checkName checks a name by RFC 9113 section 8.2.1. Upper case letters are allowed: they become lower case.
func checkName[T ~string | ~[]byte](name T) error {
	if !octet.IsToken(name) {
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

// checkPseudo checks the value of a request's pseudo-header (RFC 9113 section 8.3.1). name has no colon.
func checkPseudo[T ~string | ~[]byte](name string, v T) error {
	ok := len(v) > 0
	switch name {
	case "method":
		ok = octet.IsToken(v)
	case "path":
		ok = ok && (v[0] == '/' || string(v) == "*") && visible(v)
	case "scheme":
		ok = ok && octet.IsToken(v)
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

// shorten returns a text for an error message.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// pseudoOf returns the part of a request that a pseudo-header names, or nil. name has no colon.
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
