package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is written as Go does: 5ms, 1.5s.
type Duration time.Duration

// MarshalYAML implements yaml.Marshaler.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

func (d *Duration) parse(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 5ms or 1.5s", s)
	}
	*d = Duration(v)
	return nil
}

// Ratio is a part of a whole, from 0 to 1. It is written 0.03 or 3%.
type Ratio float64

func (r *Ratio) parse(s string) error {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return fmt.Errorf("%q is not a ratio such as 0.03 or 3%%", s)
	}
	if percent {
		v /= 100
	}
	if !(v >= 0 && v <= 1) { // NaN is neither
		return fmt.Errorf("%q is not between 0 and 1", s)
	}
	*r = Ratio(v)
	return nil
}
