package pace

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func TestRamp(t *testing.T) {
	minute, month := 60*second, 720*3600*second
	for _, tt := range []struct {
		name  string
		rate  ramp
		slots int64
		due   map[int64]int64
	}{
		{"up from zero", ramp{From: 0, To: 100, Period: second, Duration: 10 * second}, 500,
			map[int64]int64{0: 0, 5: second, 20: 2 * second, 499: 9_989_994_994, 500: Never}},
		{"down to zero", ramp{From: 100, To: 0, Period: second, Duration: 10 * second}, 500,
			map[int64]int64{0: 0, 95: second, 495: 9 * second, 499: 9_552_786_404, 500: Never}},
		{"no change", ramp{From: 10, To: 10, Period: second, Duration: 10 * second}, 100, map[int64]int64{7: 700_000_000, 99: 9_900_000_000}},
		{"zero", ramp{Period: second, Duration: second}, 0, map[int64]int64{0: Never}},
		{"a part of a slot", ramp{From: 0, To: 1, Period: second, Duration: second}, 1, map[int64]int64{0: 0, 1: Never}},
		{"per hour", ramp{From: 1, To: 3, Period: 3600 * second, Duration: 60 * minute}, 2, map[int64]int64{0: 0, 1: 2_224_922_359_499}},
		{"the greatest rate for the longest time", ramp{From: 0, To: 100_000_000, Period: second, Duration: month}, 50_000_000 * 720 * 3600, map[int64]int64{0: 0}},
		{"the second half", ramp{From: 0, To: 100, Period: second, Duration: 10 * second, Elapsed: 5 * second}, 375, map[int64]int64{0: 0, 375: Never}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rate.Before(tt.rate.Duration - tt.rate.Elapsed); got != tt.slots {
				t.Errorf("%d slots, want %d", got, tt.slots)
			}
			for k, want := range tt.due {
				if got := tt.rate.Due(k); got/1_000_000 != want/1_000_000 {
					t.Errorf("Due(%d) = %d, want %d", k, got, want)
				}
			}
		})
	}
}

// TestLaws compares laws with their definition, with big numbers as the oracle.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	log := func(limit float64) int64 { return int64(math.Exp(r.Float64() * math.Log(limit))) }
	for range 20_000 {
		rate := rv.Rate{Count: log(1e8), Period: time.Duration(second * log(86400)), Duration: time.Duration(log(720 * 3600 * 1e9))}
		from := log(1e8)
		switch r.IntN(6) {
		case 0:
			from = 0
		case 1:
			rate.Count = 0
		case 2:
			from = rate.Count
		}
		l := ramp{From: from, To: rate.Count, Period: int64(rate.Period), Duration: int64(rate.Duration), Elapsed: r.Int64N(int64(rate.Duration))}
		shift := uint(0)
		if r.IntN(2) == 0 {
			shift = positionShift
		}
		end := l.Duration - l.Elapsed
		at := 1 + r.Int64N(end)
		if r.IntN(4) == 0 {
			at = end - r.Int64N(min(end, 1000))
		}
		units := l.units(at, shift)
		if want := unitsOf(l, at, shift); !want.IsInt64() || want.Int64() >= math.MaxInt64/2 {
			if units != math.MaxInt64 {
				t.Fatalf("%+v: units(%d, %d) = %d, want %s", l, at, shift, units, want)
			}
			continue
		} else if units != want.Int64() {
			t.Fatalf("%+v: units(%d, %d) = %d, want %s", l, at, shift, units, want)
		}
		if units > 0 && l.offset(units-1, shift) >= at {
			t.Fatalf("%+v: unit %d is due at %d, want before %d", l, units-1, l.offset(units-1, shift), at)
		}
		if due := l.offset(units, shift); due < at {
			t.Fatalf("%+v: unit %d is due at %d, want from %d on", l, units, due, at)
		}
	}
}

// unitsOf returns the number of units of a ramp before an offset, rounded up.
func unitsOf(l ramp, offset int64, shift uint) *big.Int {
	area := func(t int64) *big.Int {
		at, two := big.NewInt(t), big.NewInt(2*l.Duration)
		sum := new(big.Int).Mul(two, at)
		sum.Mul(sum, big.NewInt(l.From))
		square := new(big.Int).Mul(at, at)
		return sum.Add(sum, square.Mul(square, big.NewInt(l.To-l.From)))
	}
	n := area(min(l.Elapsed+offset, l.Duration))
	n.Sub(n, area(l.Elapsed)).Lsh(n, shift)
	d := new(big.Int).Mul(big.NewInt(2*l.Duration), big.NewInt(l.Period))
	n.Add(n, d)
	n.Sub(n, big.NewInt(1))
	return n.Div(n, d)
}

// TestAdjacentRamps: the slots of ramps that follow one another are those of their integral.
func TestAdjacentRamps(t *testing.T) {
	for _, steps := range []int64{1, 2, 5, 50} {
		var slots int64
		for i := range steps {
			l := ramp{From: 1000 * i / steps, To: 1000 * (i + 1) / steps, Period: second, Duration: 60 * second / steps}
			slots += l.Before(l.Duration)
		}
		if slots < 30_000-steps || slots > 30_000+steps {
			t.Errorf("%d slots in %d ramps, want 30000 or one more for each", slots, steps)
		}
	}
}
