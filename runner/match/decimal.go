package match

import (
	"bytes"
	"cmp"
)

// maxExponent bounds what may stand behind the "e" of a number.
const maxExponent = 999_999_999

// decimal is a number as it is written: 0.D1D2D3... times ten to the exponent, D1 not being 0, where the
// digits are those of text, which may also have a point. It has no digits when it is zero.
type decimal struct {
	negative bool
	text     []byte
	exponent int
}

func isNumber(text []byte) bool {
	_, ok := parseDecimal(text)
	return ok
}

// parseDecimal reads an optional sign, digits with an optional point, and an optional exponent of at most maxExponent.
// These are all numbers of JSON, and forms such as +1, .5 and 1. as well.
func parseDecimal(text []byte) (d decimal, ok bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		d.negative = text[0] == '-'
		text = text[1:]
	}
	mantissa, exponent := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		if exponent, ok = parseExponent(text[i+1:]); !ok {
			return decimal{}, false
		}
	}
	point, ok := checkMantissa(mantissa)
	if !ok {
		return decimal{}, false
	}
	d.exponent = exponent + point
	d.text = mantissa
	d.trimZeros()
	return d, true
}

// checkMantissa returns the number of digits before the point.
func checkMantissa(mantissa []byte) (point int, ok bool) {
	point = -1
	for i, c := range mantissa {
		switch {
		case c == '.' && point < 0:
			point = i
		case c < '0' || c > '9':
			return 0, false
		}
	}
	if point < 0 {
		return len(mantissa), len(mantissa) > 0
	}
	return point, len(mantissa) > 1
}

func parseExponent(text []byte) (exponent int, ok bool) {
	sign := 1
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		if exponent = exponent*10 + int(c-'0'); exponent > maxExponent {
			return 0, false
		}
	}
	return sign * exponent, len(text) > 0
}

// trimZeros removes the zeros before the first other digit, and of zero everything.
func (d *decimal) trimZeros() {
	for len(d.text) > 0 && (d.text[0] == '0' || d.text[0] == '.') {
		if d.text[0] == '0' {
			d.exponent--
		}
		d.text = d.text[1:]
	}
	if len(d.text) == 0 {
		*d = decimal{}
	}
}

// compare is -1, 0 or 1.
func (d decimal) compare(other decimal) int {
	if d.sign() != other.sign() {
		return cmp.Compare(d.sign(), other.sign())
	}
	return d.sign() * d.compareMagnitude(other)
}

func (d decimal) sign() int {
	switch {
	case len(d.text) == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func (d decimal) compareMagnitude(other decimal) int {
	if d.exponent != other.exponent {
		return cmp.Compare(d.exponent, other.exponent)
	}
	for a, b := d.text, other.text; len(a) > 0 || len(b) > 0; {
		var x, y byte
		x, a = nextDigit(a)
		y, b = nextDigit(b)
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	return 0
}

// nextDigit goes over a point; digits that are not written are 0.
func nextDigit(text []byte) (digit byte, rest []byte) {
	if len(text) > 0 && text[0] == '.' {
		text = text[1:]
	}
	if len(text) == 0 {
		return '0', nil
	}
	return text[0], text[1:]
}
