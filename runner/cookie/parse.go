package cookie

import (
	"bytes"
	"math"
	"time"

	"github.com/h2surge/h2surge/internal/octet"
)

const (
	maxPair      = 4 << 10 // name and value, RFC 6265bis 5.7
	maxAttribute = 1 << 10 // RFC 6265bis 5.6

	// never is the expiry of a session cookie (RFC 6265 5.3 step 3), and of a cookie whose expiry overflows int64.
	never int64 = math.MaxInt64
)

// setCookie is what a Set-Cookie field says; its slices are parts of the field.
type setCookie struct {
	name, value []byte
	domain      []byte // without its leading dot; empty: none
	path        []byte // nil: the default path of the request
	expires     int64
	secure      bool
}

// parse is RFC 6265 5.2. Of attributes with the same name the last counts (5.3), and Max-Age has
// precedence over Expires.
func parse(field []byte, now int64) (s setCookie, ok bool) {
	if !octet.IsFieldText(field) {
		return s, false
	}
	pair, rest := cut(field, ';')
	i := bytes.IndexByte(pair, '=')
	if i < 0 {
		return s, false
	}
	s.name, s.value = octet.TrimBlanks(pair[:i]), octet.TrimBlanks(pair[i+1:])
	if len(s.name) == 0 || len(s.name)+len(s.value) > maxPair {
		return s, false
	}
	s.expires = never
	for hasMaxAge := false; len(rest) > 0; {
		var attribute []byte
		attribute, rest = cut(rest, ';')
		name, value := cut(attribute, '=')
		s.attribute(octet.TrimBlanks(name), octet.TrimBlanks(value), now, &hasMaxAge)
	}
	return s, true
}

func (s *setCookie) attribute(name, value []byte, now int64, hasMaxAge *bool) {
	switch {
	case len(value) > maxAttribute:
	case octet.EqualFold(name, "max-age"):
		if t, ok := maxAge(value, now); ok {
			s.expires, *hasMaxAge = t, true
		}
	case octet.EqualFold(name, "expires"):
		if t, ok := parseDate(value); ok && !*hasMaxAge {
			s.expires = t
		}
	case octet.EqualFold(name, "domain"):
		if len(value) > 0 {
			s.domain = bytes.TrimPrefix(value, []byte{'.'})
		}
	case octet.EqualFold(name, "path"):
		s.path = nil
		if len(value) > 0 && value[0] == '/' {
			s.path = value
		}
	case octet.EqualFold(name, "secure"):
		s.secure = true
	}
}

// maxAge is the instant of RFC 6265 5.2.2.
func maxAge(value []byte, now int64) (int64, bool) {
	digits := bytes.TrimPrefix(value, []byte{'-'})
	if len(digits) == 0 {
		return 0, false
	}
	var seconds int64
	for _, c := range digits {
		if !octet.IsDigit(c) {
			return 0, false
		}
		seconds = min(seconds*10+int64(c-'0'), math.MaxInt64/100)
	}
	if seconds == 0 || value[0] == '-' {
		return math.MinInt64, true
	}
	const second = int64(time.Second)
	if seconds > (math.MaxInt64-max(now, 0))/second {
		return never, true
	}
	return now + seconds*second, true
}

// prefixAllows is RFC 6265bis 5.7 for the prefixes of its section 4.1.3.
func prefixAllows(s *setCookie, secure bool) bool {
	const secureOnly, hostOnly = "__secure-", "__host-"
	if n := len(hostOnly); len(s.name) >= n && octet.EqualFold(s.name[:n], hostOnly) {
		return secure && s.secure && len(s.domain) == 0 && string(s.path) == "/"
	}
	if n := len(secureOnly); len(s.name) >= n && octet.EqualFold(s.name[:n], secureOnly) {
		return secure && s.secure
	}
	return true
}

func cut(b []byte, at byte) (before, after []byte) {
	if i := bytes.IndexByte(b, at); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}
