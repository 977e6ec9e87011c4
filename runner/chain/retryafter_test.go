package chain

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)
	for value, want := range map[string]time.Duration{
		"0":                             0,
		"2":                             2 * time.Second,
		"86401":                         24 * time.Hour,
		"4294967295":                    24 * time.Hour,
		"99999999999999999999":          0,
		"-1":                            0,
		"1.5":                           0,
		"":                              0,
		"soon":                          0,
		"Sun, 01 Mar 2026 12:00:03 GMT": 2500 * time.Millisecond,
		"Sun, 01 Mar 2026 12:00:00 GMT": 0,
		"Sat, 01 Mar 2036 12:00:00 GMT": 24 * time.Hour,
		"Sun, 01 Mar 2026 12:00:03 CET": 0,
	} {
		if got := time.Duration(RetryAfter([]byte(value), now.UnixNano())); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
