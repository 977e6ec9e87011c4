package jsonpointer

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the characters of a string, whose valid JSON text raw is, and raw itself of anything else.
// As in encoding/json, what is not UTF-8 and half of a surrogate pair become U+FFFD. The result is a part
// of raw, or what was appended to dst.
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

// sameText compares the inside of a string with UTF-8 text.
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

// character is the first one of the inside of a valid string that is not empty, and the octets it has there.
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

// utf16Character is what \uXXXX, or a pair of them, stands for.
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

// hex4 is the value of four hexadecimal digits; -1: they are none.
func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
