package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is written as Go does: 5ms, 1.5s.
type Duration time.Duration

// MarshalYAML implements yaml.Marshaler.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 5ms or 1.5s", n.Value)
	}
	*d = Duration(v)
	return nil
}

// Ratio is a part of a whole, from 0 to 1. It is written 0.03 or 3%.
type Ratio float64

// UnmarshalYAML implements yaml.Unmarshaler.
func (r *Ratio) UnmarshalYAML(n *yaml.Node) error {
	number, percent := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return fmt.Errorf("%q is not a ratio such as 0.03 or 3%%", n.Value)
	}
	if percent {
		v /= 100
	}
	if !(v >= 0 && v <= 1) { // NaN is neither
		return fmt.Errorf("%q is not between 0 and 1", n.Value)
	}
	*r = Ratio(v)
	return nil
}
