package pace

import (
	"math"
	"math/bits"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
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

// arrivalsOf returns the arrivals of a rate from a slot on, at the active time elapsed of its stage. Before are those
// of the same stage with an earlier rate, or nil. It returns nil for a closed loop.
func arrivalsOf(r *rv.Rate, elapsed, slot int64, before Arrivals) Arrivals {
	if r.ClosedLoop {
		return nil
	}
	var l interface {
		law
		Arrivals
	} = Even{Count: r.Count, Period: int64(r.Period)}
	if r.RampFrom != nil {
		l = ramp{From: *r.RampFrom, To: r.Count, Period: int64(r.Period), Duration: int64(r.Duration), Elapsed: elapsed}
	}
	switch r.Arrivals {
	case rv.ArrivalsPoisson:
		process, _ := before.(*poisson)
		return newPoisson(l, r.Seed, slot, process)
	case rv.ArrivalsBurst:
		return burst{of: l, size: r.BurstSize}
	}
	return l
}

// Even arrivals are a constant rate: Count slots in each Period. Slot k is due at floor(k * Period / Count). Nothing
// accumulates, so the rate does not drift.
type Even struct {
	// Count and Period, in nanoseconds, are positive. A Count of 0 has no slots.
	Count, Period int64
}

// Due implements Arrivals.
func (e Even) Due(k int64) int64 { return e.offset(k, 0) }

// Before implements Arrivals.
func (e Even) Before(offset int64) int64 { return e.units(offset, 0) }

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
