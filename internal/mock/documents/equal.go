package documents

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// equal returns whether two values of decode are equal. Numbers are equal if their values are: 1 and 1.0.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && exact(a) == exact(b)
	}
	return a == b
}

// number is digits times ten to the power of exponent. The first and the last digit are not 0, so that equal numbers
// have equal fields. Zero has no digits.
type number struct {
	negative bool
	digits   string
	exponent int64
}

// exact returns the value of a number without expanding its exponent: 1e999999999 has one digit. An exponent above 32
// bits stays text, so such a number equals only itself.
func exact(n json.Number) number {
	text, negative := strings.CutPrefix(string(n), "-")
	text, power, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return number{}
	}
	exponent := int64(0)
	if power != "" {
		var err error
		if exponent, err = strconv.ParseInt(power, 10, 32); err != nil {
			return number{digits: string(n)}
		}
	}
	short := strings.TrimRight(digits, "0")
	return number{negative, short, exponent - int64(len(fraction)) + int64(len(digits)-len(short))}
}
