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
		"4294967296":                    24 * time.Hour,
		"99999999999999999999":          24 * time.Hour,
		"99999999999999999999x":         0,
		"+1":                            0,
		"-1":                            0,
		"1.5":                           0,
		"":                              0,
		"soon":                          0,
		"Sun, 01 Mar 2026 12:00:03 GMT": 2500 * time.Millisecond,
		"Sun, 01 Mar 2026 12:00:00 GMT": 0,
		"Sat, 01 Mar 2036 12:00:00 GMT": 24 * time.Hour,
		"Sun, 01 Mar 2026 12:00:03 CET": 0,

		"Sunday, 01-Mar-26 12:00:03 GMT": 2500 * time.Millisecond,
		"Sunday, 01-Mar-26 12:00:03 CET": 0,
		"Friday, 28-Feb-76 12:00:00 GMT": 24 * time.Hour,
		"Monday, 02-Mar-76 12:00:00 GMT": 0,
		"Sun Mar  1 12:00:03 2026":       2500 * time.Millisecond,
		"Tue Mar 10 12:00:00 2026":       24 * time.Hour,
		"Sun Mar  1 12:00:03 1970":       0,
	} {
		if got := time.Duration(RetryAfter([]byte(value), now.UnixNano())); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
