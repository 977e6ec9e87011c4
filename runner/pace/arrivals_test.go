package pace

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

const second = int64(time.Second)

func TestDue(t *testing.T) {
	hour := int64(time.Hour)
	for _, tt := range []struct {
		name string
		rate Even
		k    int64
		want int64
	}{
		{"the first slot is due immediately", Even{10, second}, 0, 0},
		{"ten a second", Even{10, second}, 7, 700_000_000},
		{"three a second never drift", Even{3, second}, 3_000_000, 1_000_000 * second},
		{"rounded down to a nanosecond", Even{3, second}, 1, 333_333_333},
		{"one in an hour", Even{1, hour}, 2, 2 * hour},
		{"a hundred million a second for a day", Even{100_000_000, second}, 86400 * 100_000_000, 86400 * second},
		{"a pause", Even{}, 0, Never},
		{"after the end of the clock", Even{1, hour}, math.MaxInt64, Never},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rate.Due(tt.k); got != tt.want {
				t.Errorf("Due(%d) = %d, want %d", tt.k, got, tt.want)
			}
		})
	}
}

func TestBefore(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate Even
		t    int64
		want int64
	}{
		{"nothing before the start", Even{1, second}, 0, 0},
		{"the first a nanosecond later", Even{1, second}, 1, 1},
		{"a whole second of ten", Even{10, second}, second, 10},
		{"a slot due at the instant is not before it", Even{10, second}, 700_000_000, 7},
		{"a minute of 60 000 a second", Even{60_000, second}, 60 * second, 3_600_000},
		{"before the rate", Even{1, 1}, -3, 0},
		{"a pause without a period", Even{}, second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rate.Before(tt.t); got != tt.want {
				t.Errorf("Before(%d) = %d, want %d", tt.t, got, tt.want)
			}
		})
	}
}

// TestBeforeIsTheInverseOfDue checks against the definition, with big numbers as the oracle.
func TestBeforeIsTheInverseOfDue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		e := Even{Count: 1 + r.Int64N(100_000_000), Period: 1 + r.Int64N(3600*second)}
		k := r.Int64N(1 << 33)
		want := new(big.Int).Mul(big.NewInt(k), big.NewInt(e.Period))
		want.Div(want, big.NewInt(e.Count))
		due := e.Due(k)
		if !want.IsInt64() {
			if due != Never {
				t.Fatalf("%+v: Due(%d) = %d, want Never", e, k, due)
			}
			continue
		}
		if due != want.Int64() {
			t.Fatalf("%+v: Due(%d) = %d, want %s", e, k, due, want)
		}
		b := e.Before(due)
		if b > k || e.Due(b) < due || (b > 0 && e.Due(b-1) >= due) {
			t.Fatalf("%+v: Before(Due(%d)) = %d", e, k, b)
		}
	}
}
