// Package pace answers "when is the n-th request due?" by arithmetic.
//
// A rate of Count requests every Period puts slot n at
//
//	due(n) = At + floor((n - First) * Period / Count)
//
// so slots are evenly spaced, nothing accumulates, and any worker can compute any slot without
// asking another. The inverse counts the slots that are due before an instant:
//
//	before(t) = First + ceil((t - At) * Count / Period)
//
// Both are exact: products are 128 bits wide. The package reads no clock.
package pace

import (
	"math"
	"math/bits"
)

// Line is a constant rate that begins at an instant. All instants are nanoseconds on whatever
// clock the caller uses.
type Line struct {
	// At is when slot First is due.
	At    int64
	First int64
	// Count slots come due in each Period of nanoseconds; both are positive.
	Count  int64
	Period int64
}

// Due returns the instant of slot n, which is not below First. Instants past the end of the
// clock are math.MaxInt64.
func (l Line) Due(n int64) int64 {
	d := mulDiv(n-l.First, l.Period, l.Count, 0)
	if d > math.MaxInt64-l.At {
		return math.MaxInt64
	}
	return l.At + d
}

// Before returns the number of the first slot that is not due before t: slots First up to, but
// without, the result are.
func (l Line) Before(t int64) int64 {
	if t <= l.At {
		return l.First
	}
	n := mulDiv(t-l.At, l.Count, l.Period, l.Period-1)
	if n > math.MaxInt64-l.First {
		return math.MaxInt64
	}
	return l.First + n
}

// Bend returns the line that goes on from this one at instant t with another rate: slots due
// before t stay where they are, the next one is due at t.
func (l Line) Bend(t, count, period int64) Line {
	return Line{At: t, First: l.Before(t), Count: count, Period: period}
}

// mulDiv returns (a*b + add) / c for non-negative a, b, add and positive c, or math.MaxInt64
// when that does not fit.
func mulDiv(a, b, c, add int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(add), 0)
	hi += carry
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q)
}
