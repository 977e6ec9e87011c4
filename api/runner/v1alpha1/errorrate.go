package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// ErrorRate is a ratio from 0 to 1. Its text, which is also its JSON, is a percentage: 0.0002 is "0.02%".
type ErrorRate float64

// String returns the percentage with all digits. Parsing it returns the same ratio.
func (r ErrorRate) String() string { return FormatPercentage(float64(r), -1) }

// MarshalJSON writes the percentage as a string.
func (r ErrorRate) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

// UnmarshalJSON reads a percentage.
func (r *ErrorRate) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	v, err := ParsePercentage(text)
	*r = ErrorRate(v)
	return err
}

// FormatPercentage writes a ratio as a percentage with that many significant digits, or with all of them if
// digits is negative. It moves the decimal point and does not multiply: 0.007 is "0.7%", where 0.007 * 100 is
// 0.7000000000000001.
func FormatPercentage(ratio float64, digits int) string {
	if digits > 0 {
		digits-- // strconv counts those after the point
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(ratio, 'e', digits, 64), "e")
	power, err := strconv.Atoi(exponent)
	if err != nil {
		return mantissa // NaN or infinity, which no ratio of two counts is
	}
	v, err := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(power+2), 64)
	if err != nil {
		return mantissa
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + "%"
}

// ParsePercentage returns the ratio of a percentage such as "0.02%".
func ParsePercentage(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	if !ok || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is not a percentage such as 0.02%%", text)
	}
	v, err := strconv.ParseFloat(number+"e-2", 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a percentage such as 0.02%%", text)
	}
	return v, nil
}

// ParsePercentile returns 0.999 for "p99.9". It is above 0 and at most 1.
func ParsePercentile(text string) (float64, error) {
	number, ok := strings.CutPrefix(text, "p")
	q, err := strconv.ParseFloat(number+"e-2", 64)
	if !ok || err != nil || !(q > 0 && q <= 1) {
		return 0, fmt.Errorf("percentile %q is not above p0 and at most p100", text)
	}
	return q, nil
}
