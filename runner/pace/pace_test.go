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
		line Line
		n    int64
		want int64
	}{
		{"the first slot is due at once", Line{At: 5, Count: 10, Period: second}, 0, 5},
		{"ten a second", Line{Count: 10, Period: second}, 7, 700_000_000},
		{"three a second never drift", Line{Count: 3, Period: second}, 3_000_000, 1_000_000 * second},
		{"rounded down to a nanosecond", Line{Count: 3, Period: second}, 1, 333_333_333},
		{"one in an hour", Line{Count: 1, Period: hour}, 2, 2 * hour},
		{"a hundred million a second for a day", Line{Count: 100_000_000, Period: second}, 86400 * 100_000_000, 86400 * second},
		{"counted from First", Line{At: 1000, First: 40, Count: 1, Period: 10}, 42, 1020},
		{"past the end of the clock", Line{At: 1, Count: 1, Period: hour}, math.MaxInt64, math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.line.Due(tt.n); got != tt.want {
				t.Errorf("Due(%d) = %d, want %d", tt.n, got, tt.want)
			}
		})
	}
}

func TestBefore(t *testing.T) {
	for _, tt := range []struct {
		name string
		line Line
		t    int64
		want int64
	}{
		{"none before the start", Line{At: 10, Count: 1, Period: second}, 10, 0},
		{"the first a nanosecond later", Line{At: 10, Count: 1, Period: second}, 11, 1},
		{"a whole second of ten", Line{Count: 10, Period: second}, second, 10},
		{"a slot due at the instant is not before it", Line{Count: 10, Period: second}, 700_000_000, 7},
		{"a minute of 60 000 a second", Line{Count: 60_000, Period: second}, 60 * second, 3_600_000},
		{"before the line begins", Line{At: 100, First: 9, Count: 1, Period: 1}, 3, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.line.Before(tt.t); got != tt.want {
				t.Errorf("Before(%d) = %d, want %d", tt.t, got, tt.want)
			}
		})
	}
}

// TestBeforeIsTheInverseOfDue checks against the definition, with big numbers as the oracle.
func TestBeforeIsTheInverseOfDue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		l := Line{At: r.Int64N(1 << 40), First: r.Int64N(1 << 30), Count: 1 + r.Int64N(100_000_000), Period: 1 + r.Int64N(3600*second)}
		n := l.First + r.Int64N(1<<33)
		want := new(big.Int).Mul(big.NewInt(n-l.First), big.NewInt(l.Period))
		want.Add(want.Div(want, big.NewInt(l.Count)), big.NewInt(l.At))
		due := l.Due(n)
		if !want.IsInt64() {
			if due != math.MaxInt64 {
				t.Fatalf("%+v: Due(%d) = %d, want saturated", l, n, due)
			}
			continue
		}
		if due != want.Int64() {
			t.Fatalf("%+v: Due(%d) = %d, want %s", l, n, due, want)
		}
		b := l.Before(due)
		if b > n || l.Due(b) < due || (b > l.First && l.Due(b-1) >= due) {
			t.Fatalf("%+v: Before(Due(%d)) = %d", l, n, b)
		}
	}
}

func TestBendKeepsWhatIsPast(t *testing.T) {
	l := Line{At: 0, Count: 10, Period: second}
	b := l.Bend(250_000_000, 100, second)
	if b.First != 3 {
		t.Fatalf("slots 0, 1, 2 are due before 250 ms, so the bend begins at 3, not %d", b.First)
	}
	if got := b.Due(3); got != 250_000_000 {
		t.Errorf("Due(3) = %d", got)
	}
	if got := b.Due(4); got != 260_000_000 {
		t.Errorf("Due(4) = %d", got)
	}
}
