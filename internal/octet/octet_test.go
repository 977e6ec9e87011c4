package octet_test

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/octet"
)

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// TestClasses compares each class, for all 256 octets, with the list of its members in the RFC.
func TestClasses(t *testing.T) {
	visible := ""
	for c := '!'; c <= '~'; c++ {
		visible += string(c)
	}
	for _, tc := range []struct {
		name, want string
		is         func(byte) bool
	}{
		{"IsLetter: RFC 5234 B.1 ALPHA", letters, octet.IsLetter},
		{"IsDigit: RFC 5234 B.1 DIGIT", digits, octet.IsDigit},
		{"IsVisible: RFC 5234 B.1 VCHAR", visible, octet.IsVisible},
		{"IsBlank: RFC 9110 5.6.3", " \t", octet.IsBlank},
		{"IsUnreserved: RFC 3986 2.3", letters + digits + "-._~", octet.IsUnreserved},
		{"IsTokenOctet: RFC 9110 5.6.2", letters + digits + "!#$%&'*+-.^_`|~", octet.IsTokenOctet},
		{"HexDigit: RFC 5234 B.1 HEXDIG", digits + "abcdefABCDEF", func(c byte) bool { return octet.HexDigit(c) != octet.NoDigit }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for c := range 256 {
				if got, want := tc.is(byte(c)), strings.IndexByte(tc.want, byte(c)) >= 0; got != want {
					t.Errorf("%q: %v, want %v", byte(c), got, want)
				}
			}
		})
	}
}

// TestEachOctet compares with the standard library: strings for case (ASCII only), strconv and url for digits.
func TestEachOctet(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		lower, upper := c, c
		if c < 0x80 {
			lower, upper = strings.ToLower(string(rune(c)))[0], strings.ToUpper(string(rune(c)))[0]
		}
		if got := octet.Lower(c); got != lower {
			t.Errorf("Lower(%q) = %q", c, got)
		}
		if got := octet.Upper(c); got != upper {
			t.Errorf("Upper(%q) = %q", c, got)
		}
		if v, err := strconv.ParseUint(string(rune(c)), 16, 8); err == nil && octet.HexDigit(c) != byte(v) {
			t.Errorf("HexDigit(%q) = %d, want %d", c, octet.HexDigit(c), v)
		}
		if got, want := string(octet.AppendHex([]byte("x"), 0xab<<8|uint64(c), 3)), fmt.Sprintf("xb%02x", c); got != want {
			t.Errorf("AppendHex = %q, want %q", got, want)
		}
		percent := octet.AppendPercent([]byte("x"), c)
		if raw, err := url.PathUnescape(string(percent)); err != nil || raw != "x"+string([]byte{c}) || string(percent) != fmt.Sprintf("x%%%02X", c) {
			t.Errorf("AppendPercent(%q) = %q", c, percent)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, tc := range []struct {
		s                string
		token, fieldText bool
		trimmed, lower   string
	}{
		{"", false, true, "", ""},
		{"GET", true, true, "GET", "get"},
		{"x-A.1", true, true, "x-A.1", "x-a.1"},
		{" \ta b\t ", false, true, "a b", " \ta b\t "},
		{" \t ", false, true, "", " \t "},
		{"\r\n", false, false, "\r\n", "\r\n"},
		{"a\x00", false, false, "a\x00", "a\x00"},
		{"a\x7f", false, false, "a\x7f", "a\x7f"},
		{"É\xff", false, true, "É\xff", "É\xff"},
		{"\u00a0a", false, true, "\u00a0a", "\u00a0a"},
	} {
		b := []byte(tc.s)
		if octet.IsToken(tc.s) != tc.token || octet.IsToken(b) != tc.token {
			t.Errorf("IsToken(%q) is not %v", tc.s, tc.token)
		}
		if octet.IsFieldText(tc.s) != tc.fieldText || octet.IsFieldText(b) != tc.fieldText {
			t.Errorf("IsFieldText(%q) is not %v", tc.s, tc.fieldText)
		}
		if got := octet.TrimBlanks(tc.s); got != tc.trimmed || string(octet.TrimBlanks(b)) != tc.trimmed {
			t.Errorf("TrimBlanks(%q) = %q, want %q", tc.s, got, tc.trimmed)
		}
		if octet.ToLower(b); string(b) != tc.lower {
			t.Errorf("ToLower(%q) = %q, want %q", tc.s, b, tc.lower)
		}
		upper := []byte(tc.s)
		for i, c := range upper {
			upper[i] = octet.Upper(c)
		}
		if !octet.EqualFold(tc.s, upper) {
			t.Errorf("EqualFold(%q, %q) is false", tc.s, upper)
		}
	}
	for _, pair := range [][2]string{{"k", "\u212a"}, {"k", "K "}, {"é", "É"}, {"@", "`"}, {"[", "{"}, {"a", "b"}} {
		if octet.EqualFold(pair[0], pair[1]) {
			t.Errorf("EqualFold(%q, %q) is true", pair[0], pair[1])
		}
	}
}

func TestAppendHexDecoded(t *testing.T) {
	for in, want := range map[string]string{"": "", "7e00": "\x7e\x00", "7E 0\n0": "\x7e\x00", "5": "\x05", "123": "\x01\x23", "0x1g2": "\x00\x12", "xyz": ""} {
		if got := octet.AppendHexDecoded([]byte("a"), []byte(in)); string(got) != "a"+want {
			t.Errorf("%q: %q, want %q", in, got, "a"+want)
		}
	}
}

func TestContentLength(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "007": 7, "42": 42, "999999999999999999": 999999999999999999,
		"": -1, "1000000000000000000": -1, "-1": -1, "+1": -1, "1 ": -1, "1,1": -1, "0x1": -1, "1:": -1, "/": -1,
	} {
		if got := octet.ContentLength([]byte(in)); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}

func TestAppendDecimal(t *testing.T) {
	for _, v := range []int64{0, 7, 10, 123456, math.MaxInt64} {
		for _, width := range []int{1, 3, 19} {
			if got, want := string(octet.AppendDecimal([]byte("x"), v, width)), fmt.Sprintf("x%0*d", width, v); got != want {
				t.Errorf("%d with %d digits: %q, want %q", v, width, got, want)
			}
		}
	}
}
