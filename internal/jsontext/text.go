package jsontext

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/h2surge/h2surge/internal/octet"
)

// Text returns the characters of a string. raw is the string's valid JSON text. If raw is another value, Text returns
// raw. As in encoding/json, octets that are not UTF-8 and half surrogate pairs become U+FFFD. The result is a part of
// raw or, if raw has escapes, is appended to dst and does not include dst.
func Text(dst, raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	start := len(dst)
	for len(inner) > 0 {
		r, size := character(inner)
		dst = utf8.AppendRune(dst, r)
		inner = inner[size:]
	}
	return dst[start:]
}

// AppendEscaped appends the JSON text of a string without its quotes. Octets that are not UTF-8 become U+FFFD, because
// JSON text is UTF-8 (RFC 8259 8.1).
func AppendEscaped(dst, value []byte) []byte {
	for len(value) > 0 {
		if len(value) >= 8 {
			if n := ordinary(binary.LittleEndian.Uint64(value)); n > 0 {
				dst, value = append(dst, value[:n]...), value[n:]
				continue
			}
		}
		r, n := utf8.DecodeRune(value)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < ' ':
			dst = octet.AppendHex(append(dst, `\u`...), uint64(r), 4)
		default:
			dst = utf8.AppendRune(dst, r)
		}
		value = value[n:]
	}
	return dst
}

// sameText reports whether the inside of a string is text, which is UTF-8. plain is as in skipString.
func sameText(inner []byte, plain bool, text string) bool {
	if plain {
		return string(inner) == text
	}
	for len(inner) > 0 {
		got, size := character(inner)
		want, width := utf8.DecodeRuneInString(text)
		if width == 0 || got != want {
			return false
		}
		inner, text = inner[size:], text[width:]
	}
	return text == ""
}

// character returns the first character of the inside of a valid string, and how many octets it has there.
func character(inner []byte) (r rune, size int) {
	switch c := inner[0]; {
	case c >= utf8.RuneSelf:
		return utf8.DecodeRune(inner)
	case c != '\\':
		return rune(c), 1
	}
	switch c := inner[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return utf16Character(inner)
	default: // itself
		return rune(c), 2
	}
}

// utf16Character returns the character of \uXXXX or of a surrogate pair.
func utf16Character(inner []byte) (r rune, size int) {
	r = hex4(inner[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(inner) >= 12 && inner[6] == '\\' && inner[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(inner[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 returns the value of four hexadecimal digits, or -1.
func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits {
		d := octet.HexDigit(c)
		if d == octet.NoDigit {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}
