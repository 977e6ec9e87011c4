package cli

import (
	"testing"
	"time"
)

func TestPerSecond(t *testing.T) {
	for _, tt := range []struct {
		text   string
		count  int64
		period time.Duration
	}{
		{"5000", 5000, time.Second},
		{"0.5", 1, 2 * time.Second},
		{"2.50", 5, 2 * time.Second},
		{"010", 10, time.Second},
		{"0012.5", 25, 2 * time.Second},
		{"0.0001", 1, 10_000 * time.Second},
		{"999999999999.9999", 9_999_999_999_999_999, 10_000 * time.Second},
		{"250000.0005", 0, 0}, // 500000001 in 2000 s
		{"200000.5", 400_001, 2 * time.Second},
		{"99999999.9", 0, 0},
		{"100000000.0", 100_000_000, time.Second},
		{"0.000001", 0, 0},
		{"0.00", 0, 0},
		{"1e3", 0, 0},
		{"1/2", 0, 0},
		{"0x10", 0, 0},
		{"", 0, 0},
	} {
		got, err := perSecond(tt.text)
		if (err != nil) != (tt.count == 0) {
			t.Errorf("%q: error %v", tt.text, err)
		}
		if err == nil && (got.Count != tt.count || got.Period.Duration != tt.period) {
			t.Errorf("%q: %d in %v, want %d in %v", tt.text, got.Count, got.Period.Duration, tt.count, tt.period)
		}
	}
}
