package location

import (
	"bytes"
	"strings"

	"github.com/h2surge/h2surge/internal/octet"
)

// SameAuthority is true when two requests have the same origin: scheme, host and port, where a port
// that is missing or empty is the scheme's default (RFC 9110 4.2.3, 4.3.1).
func SameAuthority(schemeA, authA, schemeB, authB []byte) bool {
	if !octet.EqualFold(schemeA, schemeB) {
		return false
	}
	hostA, portA := CutPort(authA)
	hostB, portB := CutPort(authB)
	return octet.EqualFold(hostA, hostB) && effective(schemeA, portA) == effective(schemeB, portB)
}

func effective(scheme, port []byte) int {
	switch {
	case len(port) > 0:
		return number(port)
	case octet.EqualFold(scheme, "https"):
		return 443
	}
	return 80
}

// CutPort returns the host and the port of an authority, and does not check them. An IPv6 address keeps its brackets. A
// port without digits is empty.
func CutPort(authority []byte) (host, port []byte) {
	i := bytes.LastIndexByte(authority, ':')
	if i < 0 || bytes.IndexByte(authority[i:], ']') >= 0 {
		return authority, nil
	}
	return authority[:i], authority[i+1:]
}

// ParseAuthority checks the authority of a reference: RFC 3986 3.2 without user information, RFC
// 9110 4.2.1. A port without digits is dropped.
func ParseAuthority(a []byte) ([]byte, error) {
	if bytes.IndexByte(a, '@') >= 0 {
		return nil, errUserinfo
	}
	host, port := CutPort(a)
	switch {
	case len(host) == 0:
		return nil, errNoHost
	case number(port) < 0 || !isHost(host):
		return nil, errAuthority
	case len(port) == 0:
		return host, nil
	}
	return a, nil
}

// number returns the number of a port, or -1 if it is invalid.
func number(port []byte) int {
	n := 0
	for _, c := range port {
		if !octet.IsDigit(c) {
			return -1
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return -1
		}
	}
	return n
}

// isHost is a host of RFC 3986 3.2.2 by its characters, where an address in brackets is IPv6. host is
// not empty.
func isHost(host []byte) bool {
	if host[0] != '[' {
		return consistsOf(host, 'z', "-._~%!$&'()*+,;=")
	}
	n := len(host) - 1
	return n > 2 && host[n] == ']' && bytes.IndexByte(host, ':') > 0 && consistsOf(host[1:n], 'f', ":.")
}

// consistsOf allows digits, letters up to last and others.
func consistsOf(s []byte, last byte, others string) bool {
	for _, c := range s {
		if l := c | 0x20; !octet.IsDigit(c) && (l < 'a' || l > last) && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}
