package pace

import "math"

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
