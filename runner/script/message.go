package script

import (
	"fmt"
	"strings"

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
func checkName(name string) error {
	if !octet.IsToken(name) {
		return fmt.Errorf("header name %q is not a token", name)
	}
	return nil
}

func checkValue(name, v string) error {
	if strings.ContainsAny(v, "\x00\r\n") {
		return fmt.Errorf("header %q: the value has a CR, LF or NUL", name)
	}
	return nil
}

// checkPseudo checks the value of a pseudo-header (RFC 9113 section 8.3). name has no colon.
func checkPseudo(name, v string) error {
	visible := v != "" && !strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r == 0x7f })
	switch {
	case name == "path" && (!visible || v[0] != '/' && v != "*"):
		return fmt.Errorf(`path %q: must be "*" or begin with "/", without spaces or control characters`, shorten(v))
	case name == "authority" && !visible:
		return fmt.Errorf("authority %q: must be a host, without spaces or control characters", shorten(v))
	case (name == "method" || name == "scheme") && !octet.IsToken(v):
		return fmt.Errorf("%s %q: must be a token", name, shorten(v))
	case name == "status" && (len(v) != 3 || v < "200" || v > "599" || strings.Trim(v, "0123456789") != ""):
		return fmt.Errorf(":status is %q, want 200 to 599", shorten(v))
	}
	return nil
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
