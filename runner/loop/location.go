package loop

import "bytes"

// pathOf cuts a Location value that is an absolute URL, or begins with an authority, to its path
// and query; a fragment is no part of a request target (RFC 9110 10.2.2, RFC 3986 4.2). The
// result is a part of value.
func pathOf(value []byte) []byte {
	if i := bytes.IndexByte(value, '#'); i >= 0 {
		value = value[:i]
	}
	rest := value
	if i := bytes.Index(value, []byte("://")); i > 0 && isScheme(value[:i]) {
		rest = value[i+3:]
	} else if bytes.HasPrefix(value, []byte("//")) {
		rest = value[2:]
	} else {
		return value
	}
	if i := bytes.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return []byte("/")
}

// isScheme is RFC 3986 3.1.
func isScheme(b []byte) bool {
	for i, c := range b {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !bytes.ContainsRune([]byte("0123456789+-."), rune(c))) {
			return false
		}
	}
	return len(b) > 0
}
