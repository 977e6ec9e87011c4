package pace

import (
	"math"
	"math/bits"
)

// Never is the instant of something that does not happen.
const Never = math.MaxInt64

// Arrivals says when the slots of a rate are due. Offsets are nanoseconds since the rate took effect, without the time
// in which the load was suspended. Arrivals are the same on all workers, so that they agree on each slot.
type Arrivals interface {
	// Due returns the offset of slot k, from slot 0 on. It never decreases with k. Offsets that do not fit are Never.
	Due(k int64) int64
	// Before returns the number of slots that are due before an offset: Due(k) < offset exactly if k < Before(offset).
	Before(offset int64) int64
}

// Even arrivals are a constant rate: Count slots in each Period. Slot k is due at floor(k * Period / Count). Nothing
// accumulates, so the rate does not drift.
type Even struct {
	// Count and Period, in nanoseconds, are positive.
	Count, Period int64
}

// Due implements Arrivals.
func (e Even) Due(k int64) int64 { return mulDiv(k, e.Period, e.Count, 0) }

// Before implements Arrivals.
func (e Even) Before(offset int64) int64 {
	if offset <= 0 {
		return 0
	}
	return mulDiv(offset, e.Count, e.Period, e.Period-1)
}

// Silent is a rate of zero: no slot is due.
type Silent struct{}

// Due implements Arrivals.
func (Silent) Due(int64) int64 { return Never }

// Before implements Arrivals.
func (Silent) Before(int64) int64 { return 0 }

// mulDiv returns (a*b + add) / c for non-negative a, b, add and positive c, or math.MaxInt64
// when that does not fit. The product is 128 bits wide.
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

// add returns a + b for non-negative b, or Never if that does not fit.
func add(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return Never
}
