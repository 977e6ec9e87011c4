package v1alpha1

import (
	"encoding/json"
	"math"
	"testing"
)

func TestErrorRate(t *testing.T) {
	for want, ratio := range map[string]float64{
		"0%": 0, "0.02%": 0.0002, "0.7%": 7. / 1000, "0.1%": 0.001, "29%": 0.29, "57%": 0.57, "100%": 1,
		"33.33333333333333%": 1. / 3, "0.0000000001%": 1e-12,
	} {
		text, err := json.Marshal(ErrorRate(ratio))
		if err != nil || string(text) != `"`+want+`"` {
			t.Errorf("%v is %s, %v; want %q", ratio, text, err, want)
		}
		var back ErrorRate
		if err := json.Unmarshal(text, &back); err != nil || math.Abs(float64(back)-ratio) > 1e-16 {
			t.Errorf("%s is read as %v, %v; want %v", text, float64(back), err, ratio)
		}
	}
	for _, text := range []string{`0.02`, `"0.02"`, `"%"`, `"1e1%"`, `"NaN%"`, `"-1%"`, `"1.1.1%"`} {
		var r ErrorRate
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s is read as %v, want an error", text, float64(r))
		}
	}
}

func TestFormatPercentage(t *testing.T) {
	for _, tt := range []struct {
		ratio  float64
		digits int
		want   string
	}{{1. / 3, 6, "33.3333%"}, {2. / 3, 1, "70%"}, {0.12345678, 6, "12.3457%"}, {0, 6, "0%"}, {1, 6, "100%"}} {
		if got := FormatPercentage(tt.ratio, tt.digits); got != tt.want {
			t.Errorf("%v with %d digits is %q, want %q", tt.ratio, tt.digits, got, tt.want)
		}
	}
}
