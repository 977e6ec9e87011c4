package location

import (
	"bytes"

	"github.com/h2surge/h2surge/internal/octet"
)

// parts are those of a reference, RFC 3986 3. A nil scheme, authority or query is not there; a
// query begins with its question mark.
type parts struct {
	scheme, authority, path, query []byte
	hasAuthority                   bool
}

// split takes a reference apart and drops its fragment.
func split(reference []byte) (p parts, err error) {
	for _, c := range reference {
		if c <= ' ' || c == 0x7f {
			return p, errOctet
		}
	}
	rest := reference
	if i := bytes.IndexByte(rest, '#'); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.IndexByte(rest, '?'); i >= 0 {
		rest, p.query = rest[:i], rest[i:]
	}
	if i := bytes.IndexByte(rest, ':'); i >= 0 && bytes.IndexByte(rest[:i], '/') < 0 {
		if !isScheme(rest[:i]) {
			return p, errColon
		}
		p.scheme, rest = rest[:i], rest[i+1:]
	}
	if bytes.HasPrefix(rest, []byte("//")) {
		p.hasAuthority = true
		rest = rest[2:]
		end := bytes.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		if p.authority, err = ParseAuthority(rest[:end]); err != nil {
			return p, err
		}
		rest = rest[end:]
	}
	p.path = rest
	return p, nil
}

// isScheme is RFC 3986 3.1.
func isScheme(b []byte) bool {
	for i, c := range b {
		if !octet.IsLetter(c) && (i == 0 || !octet.IsDigit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return len(b) > 0
}
