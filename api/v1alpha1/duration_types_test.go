package v1alpha1

import (
	"encoding/json"
	"testing"
	"time"
)

// TestDurationHasNoFraction: what Go writes as 1.5s would be refused by the API server.
func TestDurationHasNoFraction(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1h": time.Hour, "1m30s": 90 * time.Second, "1s500ms": 1500 * time.Millisecond, "2h3m4s5ms6us7ns": 2*time.Hour + 3*time.Minute + 4*time.Second + 5006007,
		"-1h30m": -90 * time.Minute, "-2562047h47m16s854ms775us808ns": -1 << 63,
	} {
		raw, err := json.Marshal(Duration{d})
		if err != nil || string(raw) != `"`+want+`"` {
			t.Errorf("%v: got %s, %v; want %q", d, raw, err, want)
		}
		var back SignedDuration
		if err := json.Unmarshal(raw, &back); err != nil || back.Duration.Duration != d {
			t.Errorf("%s: got %v, %v; want %v", raw, back.Duration.Duration, err, d)
		}
	}
	for _, raw := range []string{`5`, `"5"`, `"x"`} {
		if err := json.Unmarshal([]byte(raw), &Duration{}); err == nil {
			t.Errorf("%s: want an error", raw)
		}
	}
}
