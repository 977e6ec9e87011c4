package histogram

import (
	"math"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Quantile returns the value at or below which the fraction q of all values lies: the greatest
// value of the first bucket at which the running count reaches ceil(q x Count), at least one. That
// is the definition of HdrHistogram (Java, from 2.1.10; hdrhistogram-go rounds the rank to the
// nearest instead, which asks for less). The result is never below the exact Min nor above the
// exact Max, and q >= 1 gives the exact Max. It is 0 when there is no value.
//
// Unanswered requests count as greater than every value. A quantile that falls among them is Above their limit.
func (h *H) Quantile(q float64) int64 { return h.QuantileWithout(q, 0) }

// QuantileWithout is Quantile without so many of the greatest values, unanswered requests first.
func (h *H) QuantileWithout(q float64, greatest int64) int64 {
	all := addSaturated(h.count, h.unanswered) - greatest
	if all <= 0 {
		return 0
	}
	want := rank(q, all)
	switch {
	case want > h.count:
		return h.above()
	case want == h.count:
		return h.max
	}
	var seen int64
	for n, p := range h.pages {
		for i := range p.len() {
			seen += p[i]
			if seen >= want {
				return h.highestOf(n<<pageBits + i)
			}
		}
	}
	return h.max
}

// highestOf is the greatest value that may have been recorded in counter i.
func (h *H) highestOf(i int) int64 {
	if i == index(Highest) {
		// This bucket has everything above Highest too.
		return h.max
	}
	_, high := bounds(i)
	return max(h.min, min(high, h.max))
}

// rank is ceil(q x count), from 1 to count. The step to the next smaller float takes back what
// multiplying rounded up: 0.07 x 100 is 7.000000000000001, and its rank is 7.
func rank(q float64, count int64) int64 {
	r := math.Ceil(math.Nextafter(q, math.Inf(-1)) * float64(count))
	if !(r > 1) { // NaN, too
		return 1
	}
	if r >= float64(count) {
		return count
	}
	return int64(r)
}

// Times sums up the distribution. Its mean is that of the values.
func (h *H) Times() runnerv1alpha1.Times {
	least := h.min
	if h.count == 0 {
		least = h.Quantile(0)
	}
	return runnerv1alpha1.Times{
		Count:      addSaturated(h.count, h.unanswered),
		Unanswered: h.unanswered,
		Min:        least,
		Mean:       int64(math.Round(h.Mean())),
		P50:        h.Quantile(0.5),
		P90:        h.Quantile(0.9),
		P95:        h.Quantile(0.95),
		P99:        h.Quantile(0.99),
		P999:       h.Quantile(0.999),
		Max:        h.Quantile(1),
	}
}

// Below is the number of values recorded in buckets that lie wholly at or below us.
func (h *H) Below(us int64) int64 {
	if us >= h.max {
		return h.count
	}
	var seen int64
	for n, p := range h.pages {
		for i := range p.len() {
			if _, high := bounds(n<<pageBits + i); high > us {
				return seen
			}
			seen += p[i]
		}
	}
	return seen
}

// Each calls f for every bucket with a value in it, in ascending order: the greatest value that
// may have been recorded there, in microseconds, and how many there are.
func (h *H) Each(f func(highest, count int64)) {
	for n, p := range h.pages {
		for i := range p.len() {
			if p[i] > 0 {
				f(h.highestOf(n<<pageBits+i), p[i])
			}
		}
	}
}
