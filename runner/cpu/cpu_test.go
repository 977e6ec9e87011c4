package cpu

import (
	"slices"
	"testing"
)

func TestExclusive(t *testing.T) {
	for _, tc := range []struct {
		allowed, online, wanted int
		want                    bool
	}{
		{allowed: 1, online: 2, wanted: 1, want: true},
		{allowed: 4, online: 64, wanted: 4, want: true},
		{allowed: 2, online: 2, wanted: 2},
		{allowed: 2, online: 2, wanted: 1},
		{allowed: 3, online: 8, wanted: 2},
		{allowed: 1, online: 8, wanted: 2},
		{allowed: 1, online: 2, wanted: 0},
	} {
		if got := exclusive(tc.allowed, tc.online, tc.wanted); got != tc.want {
			t.Errorf("exclusive(%d allowed, %d online, %d wanted) = %v", tc.allowed, tc.online, tc.wanted, got)
		}
	}
}

func TestThisMachine(t *testing.T) {
	a := Allowed()
	if len(a) == 0 || !slices.IsSorted(a) {
		t.Fatalf("Allowed() = %v, want at least one CPU, in order", a)
	}
	a[0] = -1
	if Allowed()[0] == -1 {
		t.Error("Allowed() hands out its own slice")
	}
	if Online() < len(a) {
		t.Errorf("Online() = %d, fewer than the %d allowed", Online(), len(a))
	}
	if Exclusive(Online()) {
		t.Error("Exclusive(all CPUs) = true")
	}
	before := SelfSeconds()
	for range 50_000_000 { // some tens of milliseconds; the kernel counts in finer units
	}
	if after := SelfSeconds(); after < before || after == 0 {
		t.Errorf("SelfSeconds went from %v to %v", before, after)
	}
}
