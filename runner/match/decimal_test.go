package match

import (
	"math/big"
	"regexp"
	"testing"
)

func TestCompare(t *testing.T) {
	ascending := []string{
		"-1e999999999", "-18446744073709551616", "-18446744073709551615", "-2", "-1.5", "-1e-999999999", "0",
		"1e-999999999", "0.1", "0.10000000000000000001", "0.3", "1", "1.5", "9", "10", "9007199254740992", "9007199254740993",
		"9223372036854775807", "18446744073709551615", "18446744073709551615.5", "18446744073709551616", "1e999999999",
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i != j {
				want = 1
				if i < j {
					want = -1
				}
			}
			if got := mustDecimal(t, a).compare(mustDecimal(t, b)); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestEqual(t *testing.T) {
	for _, same := range [][]string{
		{"0", "-0", "+0", "0.0", "000", "-0.00e5", ".0", "0."},
		{"1", "+1", "1.0", "1.", "01", "10e-1", "0.1E1", "0.01e+02", "1e0", "1e00000000000000"},
		{"-120.5", "-1.205e2", "-0120.500", "-12050e-2", "-.1205e3"},
	} {
		for _, a := range same {
			for _, b := range same {
				if got := mustDecimal(t, a).compare(mustDecimal(t, b)); got != 0 {
					t.Errorf("%s and %s: %d", a, b, got)
				}
			}
		}
	}
}

func TestIsNotNumber(t *testing.T) {
	for _, s := range []string{
		"", "-", "+", ".", "-.", "e1", ".e1", "1e", "1e+", "1e1.5", "1.2.3", "--1", "1-", " 1", "1 ", "0x1", "1_000", "1,5", "NaN", "Infinity",
		"1e1000000000", "1e-1000000000", "1e99999999999999999999", "١",
	} {
		if isNumber([]byte(s)) {
			t.Errorf("%q is taken for a number", s)
		}
	}
}

func mustDecimal(t *testing.T, s string) decimal {
	t.Helper()
	d, ok := parseDecimal([]byte(s))
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return d
}

var decimalText = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?$`)

// FuzzCompare compares with math/big.
func FuzzCompare(f *testing.F) {
	f.Add("1.5", "15e-1")
	f.Add("-0.001", "+18446744073709551616")
	f.Add(".5", "00.50")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okA := parseDecimal([]byte(a))
		y, okB := parseDecimal([]byte(b))
		if decimalText.MatchString(a) && !okA || okA && !regexp.MustCompile(`[0-9]`).MatchString(a) {
			t.Fatalf("%q is a number: %v", a, okA)
		}
		if !okA || !okB {
			return
		}
		p, okP := new(big.Rat).SetString(a)
		q, okQ := new(big.Rat).SetString(b)
		if !decimalText.MatchString(a) || !decimalText.MatchString(b) {
			return // an exponent that is too much for math/big
		}
		if !okP || !okQ {
			t.Fatalf("%q and %q: math/big says %v, %v", a, b, okP, okQ)
		}
		if got, want := x.compare(y), p.Cmp(q); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
}
