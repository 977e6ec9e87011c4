package lab

import "testing"

func TestAgree(t *testing.T) {
	for _, tc := range []struct {
		name        string
		native      bool
		got         float64
		least, most float64
		want        bool
	}{
		{"classic, another time in the bucket", false, 0.0475, 0.0304, 0.0304, true},
		{"classic, the bucket above", false, 0.0512, 0.0304, 0.0304, false},
		{"classic, the bucket below", false, 0.0249, 0.0304, 0.0304, false},
		{"native, in the bucket up to 1/32 s", true, 0.0311, 0.0304, 0.0304, true},
		{"native, above it", true, 0.0314, 0.0304, 0.0304, false},
		{"native, below it", true, 0.0286, 0.0304, 0.0304, false},
		{"native, between two buckets", true, 0.033, 0.0304, 0.0363, true},
		{"a time on the bound of two buckets may be in either", false, 0.01, 0.01, 0.01, true},
		{"it was less by the report's own error", false, 0.0099, 0.010005, 0.010005, true},
	} {
		if got := AgreeBetween(tc.native, tc.got, tc.least, tc.most); got != tc.want {
			t.Errorf("%s: %v of %v to %v: %v, want %v", tc.name, tc.got, tc.least, tc.most, got, tc.want)
		}
	}
}
