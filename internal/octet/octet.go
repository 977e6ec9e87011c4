// Package octet classifies and changes single octets as the grammars of HTTP define them. Unlike the packages strings
// and unicode, its functions change and fold ASCII letters only.
package octet

import "golang.org/x/net/http/httpguts"

// IsLetter reports whether c is an ALPHA (RFC 5234 appendix B.1).
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// IsDigit reports whether c is a DIGIT (RFC 5234 appendix B.1).
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsVisible reports whether c is a VCHAR (RFC 5234 appendix B.1): printable ASCII without the space.
func IsVisible(c byte) bool { return ' ' < c && c < 0x7f }

// IsBlank reports whether c is a space or a tab, the octets of OWS (RFC 9110 5.6.3).
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// IsUnreserved reports whether c needs no percent-encoding anywhere in a URI (RFC 3986 2.3).
func IsUnreserved(c byte) bool {
	return IsLetter(c) || IsDigit(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// IsTokenOctet reports whether c is a tchar (RFC 9110 5.6.2).
func IsTokenOctet(c byte) bool { return httpguts.IsTokenRune(rune(c)) }

// IsToken reports whether s is a token (RFC 9110 5.6.2).
func IsToken[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if !IsTokenOctet(s[i]) {
			return false
		}
	}
	return len(s) > 0
}

// AllVisible reports whether s consists of visible octets.
func AllVisible[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if !IsVisible(s[i]) {
			return false
		}
	}
	return true
}

// IsFieldText reports whether all octets of s are allowed in a field value (RFC 9110 5.5). It allows
// blanks at both ends, which are not part of a value.
func IsFieldText[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// TrimBlanks returns s without the OWS at both ends (RFC 9110 5.6.3).
func TrimBlanks[T ~string | ~[]byte](s T) T {
	for len(s) > 0 && IsBlank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && IsBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// CutUnquoted cuts s at the first separator outside of quoted strings (RFC 9110 5.6.4).
func CutUnquoted[T ~string | ~[]byte](s T, separator byte) (before, after T) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == separator && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, after
}

// Lower returns c in lower case.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Upper returns c in upper case.
func Upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c + 'A' - 'a'
	}
	return c
}

// ToLower changes b to lower case in place.
func ToLower(b []byte) {
	for i, c := range b {
		b[i] = Lower(c)
	}
}

// EqualFold reports whether a and b are equal apart from the case of letters.
func EqualFold[A, B ~string | ~[]byte](a A, b B) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if Lower(a[i]) != Lower(b[i]) {
			return false
		}
	}
	return true
}

// NoDigit is larger than the value of any hexadecimal digit.
const NoDigit = 16

// HexDigit returns the value of c as a HEXDIG of either case (RFC 5234 appendix B.1), or NoDigit.
func HexDigit(c byte) byte { return hexDigits[c] }

var hexDigits = func() (t [256]byte) {
	for i := range t {
		t[i] = NoDigit
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

// AppendHex appends the last digits of v in lower case: AppendHex(nil, 0x1a2b, 3) is a2b.
func AppendHex(dst []byte, v uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[v>>shift&15])
	}
	return dst
}

// AppendDecimal appends v with at least width decimal digits. v is not negative.
func AppendDecimal(dst []byte, v int64, width int) []byte {
	var digits [20]byte
	i := len(digits)
	for v > 0 || len(digits)-i < width {
		i--
		digits[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, digits[i:]...)
}

// ContentLength returns the number of a content-length (RFC 9110 8.6), or -1 if it is not 1 to 18 digits. More digits
// are beyond any message.
func ContentLength(p []byte) int64 {
	if len(p) == 0 || len(p) > 18 {
		return -1
	}
	n := int64(0)
	for _, c := range p {
		if !IsDigit(c) {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// upperHex has the hexadecimal digits that percent-encoding prefers (RFC 3986 2.1).
const upperHex = "0123456789ABCDEF"

// AppendPercent appends the percent-encoding of c to dst (RFC 3986 2.1).
func AppendPercent(dst []byte, c byte) []byte {
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}

// IsHex reports whether all octets are hexadecimal digits.
func IsHex[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if HexDigit(s[i]) == NoDigit {
			return false
		}
	}
	return true
}

// AppendHexDecoded appends the octets of the hexadecimal digits in s. It skips other octets. If the number of digits is
// odd, it reads a 0 before them: "123" is 01 23.
func AppendHexDecoded(dst, s []byte) []byte {
	odd := false
	for _, c := range s {
		if HexDigit(c) != NoDigit {
			odd = !odd
		}
	}
	var octet byte
	half := odd // octet has the first digit
	for _, c := range s {
		digit := HexDigit(c)
		if digit == NoDigit {
			continue
		}
		octet = octet<<4 | digit
		if half {
			dst = append(dst, octet)
		}
		half = !half
	}
	return dst
}
