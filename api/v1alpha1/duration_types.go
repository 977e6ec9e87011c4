package v1alpha1

import (
	"encoding/json"
	"strconv"
	"time"
)

// Duration is a length of time such as 500ms or 1m30s: whole numbers with units, without fractions.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+(ns|us|\x{b5}s|ms|s|m|h))+$`
type Duration struct {
	time.Duration `json:"-"`
}

// SignedDuration is a length of time that can be negative, such as -1h.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^-?([0-9]+(ns|us|\x{b5}s|ms|s|m|h))+$`
type SignedDuration struct {
	Duration `json:"-"`
}

// units are the units of a duration, the longest first.
var units = []struct {
	length time.Duration
	name   string
}{
	{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"},
	{time.Nanosecond, "ns"},
}

// String returns the duration as the API accepts it. time.Duration writes 1.5s, which has a fraction.
func (d Duration) String() string {
	rest := d.Duration
	if rest == 0 {
		return "0s"
	}
	var out []byte
	if rest < 0 {
		out = append(out, '-')
	}
	for _, u := range units {
		if n := rest / u.length; n != 0 {
			out = strconv.AppendInt(out, max(int64(n), -int64(n)), 10)
			out = append(out, u.name...)
		}
		rest %= u.length
	}
	return string(out)
}

// MarshalJSON writes the duration as a string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads all that time.ParseDuration reads.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	d.Duration = parsed
	return nil
}
