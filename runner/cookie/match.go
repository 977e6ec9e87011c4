package cookie

import (
	"bytes"

	"github.com/h2surge/h2surge/internal/octet"
)

// isIP returns true if a host is an IP address. The last label of a name is never a number (RFC 1123 2.1, RFC 3696 2).
func isIP(host []byte) bool {
	if len(host) == 0 || host[0] == '[' {
		return true
	}
	for _, c := range host[bytes.LastIndexByte(host, '.')+1:] {
		if !octet.IsDigit(c) {
			return false
		}
	}
	return true
}

// scope says what a Domain attribute, which is not empty, makes of a cookie from host: one for this
// host only, one for all hosts below domain, or, with false, none (RFC 6265 5.3 steps 5 and 6).
func scope(host, domain []byte) (hostOnly, ok bool) {
	if isIP(host) || bytes.IndexByte(domain, '.') < 0 {
		return true, octet.EqualFold(host, domain)
	}
	return false, domainMatch(host, domain)
}

// domainMatch is RFC 6265 5.1.3.
func domainMatch(host, domain []byte) bool {
	n := len(host) - len(domain)
	switch {
	case n < 0:
		return false
	case n == 0:
		return octet.EqualFold(host, domain)
	}
	return host[n-1] == '.' && octet.EqualFold(host[n:], domain) && !isIP(host)
}

func withoutQuery(path []byte) []byte {
	if i := bytes.IndexByte(path, '?'); i >= 0 {
		return path[:i]
	}
	return path
}

var root = []byte("/")

// defaultPath is RFC 6265 5.1.4.
func defaultPath(path []byte) []byte {
	path = withoutQuery(path)
	if i := bytes.LastIndexByte(path, '/'); i > 0 && path[0] == '/' {
		return path[:i]
	}
	return root
}

// pathMatch is RFC 6265 5.1.4 for a cookie's path, which begins with a slash.
func pathMatch(path, prefix []byte) bool {
	if len(path) == 0 {
		path = root
	}
	if !bytes.HasPrefix(path, prefix) {
		return false
	}
	return len(path) == len(prefix) || prefix[len(prefix)-1] == '/' || path[len(prefix)] == '/'
}
