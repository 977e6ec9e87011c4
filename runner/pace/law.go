package pace

import (
	"math"
	"math/bits"
)

// law is the integral of a rate over time: how many slots are due at an offset, as a real number. Numbers of slots are
// in units of 1/2^shift slots. Offsets are nanoseconds since the rate took effect.
type law interface {
	// offset returns the last offset at which at most n units are due, or Never.
	offset(n int64, shift uint) int64
	// units returns the number of units that are due at an offset, rounded up: offset(n) < t exactly if n < units(t).
	units(t int64, shift uint) int64
}

// offset implements law.
func (e Even) offset(n int64, shift uint) int64 {
	if e.Count == 0 {
		return Never
	}
	return mulDiv(n, e.Period, e.Count<<shift, 0)
}

// units implements law.
func (e Even) units(t int64, shift uint) int64 {
	if t <= 0 || e.Count == 0 {
		return 0
	}
	return mulDiv(t, e.Count<<shift, e.Period, e.Period-1)
}

// ramp is a rate that changes linearly from From to To slots per Period, over Duration. It took effect Elapsed after
// the begin of the ramp. At t nanoseconds after the begin of the ramp, an even ramp has had
//
//	(From * t * (2 Duration - t) + To * t^2) / (2 * Duration * Period)
//
// slots. It ends after Duration: later slots are Never due.
type ramp struct{ From, To, Period, Duration, Elapsed int64 }

// Due implements Arrivals.
func (r ramp) Due(k int64) int64 { return r.offset(k, 0) }

// Before implements Arrivals.
func (r ramp) Before(offset int64) int64 { return r.units(max(0, offset), 0) }

// area returns the number of slots at a time after the begin of the ramp, multiplied by 2 * Duration * Period.
func (r *ramp) area(t int64) uint192 {
	falling := mul(uint64(t), uint64(2*r.Duration-t)).times(uint64(r.From))
	rising := mul(uint64(t), uint64(t)).times(uint64(r.To))
	return falling.plus(rising)
}

// denominator is 2 * Duration * Period.
func (r *ramp) denominator() uint192 { return mul(uint64(2*r.Duration), uint64(r.Period)) }

// units implements law.
func (r ramp) units(t int64, shift uint) int64 {
	at := min(r.Elapsed+t, r.Duration)
	passed := r.area(at).minus(r.area(r.Elapsed)).times(1 << shift)
	d := r.denominator()
	quotient := math.Ceil(passed.float() / d.float())
	if quotient >= math.MaxInt64/2 {
		return math.MaxInt64
	}
	n := int64(quotient)
	// The quotient of floats is close. n is the least number with n * d >= passed.
	for n > 0 && !d.times(uint64(n-1)).less(passed) {
		n--
	}
	for d.times(uint64(n)).less(passed) {
		n++
	}
	return n
}

// offset implements law.
func (r ramp) offset(n int64, shift uint) int64 {
	// The result is the last time t with area(t) <= limit.
	limit := r.denominator().times(uint64(n)).plus(r.area(r.Elapsed).times(1 << shift))
	late := func(t int64) bool { return limit.less(r.area(t).times(1 << shift)) }
	if !late(r.Duration) {
		return Never
	}
	// The time is close to the solution in floats, but the error is large where the rate is near zero.
	low, high := r.bracket(r.estimate(limit.float()/float64(uint64(1)<<shift)), late)
	for low+1 < high {
		if middle := low + (high-low)/2; late(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return low - r.Elapsed
}

// estimate solves area(t) = limit, in floats.
func (r *ramp) estimate(limit float64) int64 {
	from, slope := float64(r.From)*float64(r.Duration), float64(r.To-r.From)
	root := math.Sqrt(max(0, from*from+slope*limit))
	if from+root == 0 {
		return r.Elapsed
	}
	return int64(min(limit/(from+root), float64(r.Duration)))
}

// bracket returns times around an estimate: the first is not late, the second is.
func (r *ramp) bracket(guess int64, late func(int64) bool) (low, high int64) {
	low, high = max(r.Elapsed, min(guess, r.Duration-1)), r.Duration
	if late(low) {
		for step := int64(1); ; step *= 2 {
			if high = low; high-step <= r.Elapsed {
				return r.Elapsed, high
			}
			if low = high - step; !late(low) {
				return low, high
			}
		}
	}
	for step := int64(1); low+step < r.Duration; step *= 2 {
		if late(low + step) {
			return low, low + step
		}
		low += step
	}
	return low, high
}

// uint192 is an unsigned number of three words, the lowest first.
type uint192 [3]uint64

// mul returns a * b.
func mul(a, b uint64) uint192 {
	hi, lo := bits.Mul64(a, b)
	return uint192{lo, hi}
}

// times returns u * b. The product must fit.
func (u uint192) times(b uint64) uint192 {
	h0, l0 := bits.Mul64(u[0], b)
	h1, l1 := bits.Mul64(u[1], b)
	l1, carry := bits.Add64(l1, h0, 0)
	return uint192{l0, l1, u[2]*b + h1 + carry}
}

// plus returns u + v. The sum must fit.
func (u uint192) plus(v uint192) (sum uint192) {
	var carry uint64
	for i := range u {
		sum[i], carry = bits.Add64(u[i], v[i], carry)
	}
	return sum
}

// minus returns u - v for u >= v.
func (u uint192) minus(v uint192) (difference uint192) {
	var borrow uint64
	for i := range u {
		difference[i], borrow = bits.Sub64(u[i], v[i], borrow)
	}
	return difference
}

// less returns u < v.
func (u uint192) less(v uint192) bool {
	for i := 2; i > 0; i-- {
		if u[i] != v[i] {
			return u[i] < v[i]
		}
	}
	return u[0] < v[0]
}

// float returns the nearest float, or one next to it.
func (u uint192) float() float64 {
	return float64(u[0]) + (1<<64)*(float64(u[1])+(1<<64)*float64(u[2]))
}
