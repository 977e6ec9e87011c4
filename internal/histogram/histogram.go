package histogram

import (
	"math"
	"math/bits"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// The layout of HdrHistogram for lowest 1, highest 3,600,000,000 and 3 significant digits.
const (
	// Highest is the greatest value with a bucket of its own kind: 1 h in microseconds.
	Highest = 3_600_000_000

	significantDigits = 3
	// 2,048 sub-buckets: the power of two at or above 2 x 10^3 keeps 3 digits in the upper half.
	subBucketBits = 11
	pageBits      = subBucketBits - 1
	pageSize      = 1 << pageBits
	// The first bucket fills two pages, each further doubling up to 2^32 > Highest one more.
	pages = 23
)

type page [pageSize]int64

// H is a distribution of microseconds. The zero value is empty and ready to use.
//
// Count, minimum, maximum and sum are exact, whatever the buckets are.
type H struct {
	count int64
	sum   int64
	min   int64
	max   int64
	// unanswered requests have no value. Quantile counts them as greater than every value, and Above their limit.
	unanswered, limit int64
	// pages are nil until a value falls into them.
	pages [pages]*page
}

// New returns an empty histogram.
func New() *H { return &H{} }

// index is the number of the counter for us, which must be in [0, Highest].
func index(us int64) int {
	// Values below 2,048 have buckets of width one; from there the width doubles with each
	// power of two.
	shift := bits.Len64(uint64(us)|(1<<subBucketBits-1)) - subBucketBits
	return shift<<pageBits + int(us>>uint(shift))
}

// bounds returns the smallest and the greatest value of counter i.
func bounds(i int) (lowest, highest int64) {
	shift := max(i>>pageBits-1, 0)
	lowest = int64(i-shift<<pageBits) << shift
	return lowest, lowest + 1<<shift - 1
}

// Record counts one value in microseconds. A negative value, as a clock may give, counts as
// zero; one above Highest counts in the last bucket, while Max and Sum take it exactly.
func (h *H) Record(us int64) {
	us = max(us, 0)
	if h.count == 0 || us < h.min {
		h.min = us
	}
	h.max = max(h.max, us)
	h.count++
	h.sum += us
	i := index(min(us, Highest))
	p := h.pages[i>>pageBits]
	if p == nil {
		p = h.grow(i >> pageBits)
	}
	p[i&(pageSize-1)]++
}

// RecordN counts the value n times; n below one counts nothing.
func (h *H) RecordN(us, n int64) {
	if n < 1 {
		return
	}
	us = max(us, 0)
	if h.count == 0 || us < h.min {
		h.min = us
	}
	h.max = max(h.max, us)
	h.count += n
	h.sum = addSaturated(h.sum, mulSaturated(us, n))
	h.add(index(min(us, Highest)), n)
}

// Merge adds everything other has counted; other is not changed and may be nil. Sums that do not
// fit into 64 bits stay at the greatest value that does.
func (h *H) Merge(other *H) {
	if other == nil {
		return
	}
	h.AddUnanswered(other.unanswered, other.limit)
	if other.count == 0 {
		return
	}
	if h.count == 0 || other.min < h.min {
		h.min = other.min
	}
	h.max = max(h.max, other.max)
	h.count = addSaturated(h.count, other.count)
	h.sum = addSaturated(h.sum, other.sum)
	for n, from := range other.pages {
		if from == nil {
			continue
		}
		to := h.pages[n]
		if to == nil {
			to = h.grow(n)
		}
		for i, c := range from {
			to[i] += c
		}
	}
}

// Since returns what h has counted beyond earlier, which must be an earlier state of the same
// cumulative histogram. Its Min and Max are those of buckets, not exact. When earlier is not an
// earlier state, as after a runner's restart, Since returns nil. The result has no unanswered requests.
func (h *H) Since(earlier *H) *H {
	d := New()
	for n, p := range h.pages {
		for i := range p.len() {
			c := p[i] - earlier.at(n<<pageBits+i)
			if c < 0 {
				return nil
			}
			if c > 0 {
				low, high := bounds(n<<pageBits + i)
				d.RecordN(min(high, h.max), c)
				d.min = min(d.min, max(low, h.min))
			}
		}
	}
	d.sum = h.sum - earlier.sum
	if d.count != h.count-earlier.count || d.sum < 0 {
		return nil
	}
	return d
}

// Reset makes the histogram empty and keeps its memory.
func (h *H) Reset() {
	h.count, h.sum, h.min, h.max, h.unanswered, h.limit = 0, 0, 0, 0, 0, 0
	for _, p := range h.pages {
		if p != nil {
			*p = page{}
		}
	}
}

// AddUnanswered counts n requests without a response; n below one counts nothing. They are shown as longer than the
// limit in microseconds, or than the greatest value or limit so far.
func (h *H) AddUnanswered(n, limit int64) {
	if n > 0 {
		h.unanswered = addSaturated(h.unanswered, n)
		h.limit = max(h.limit, limit)
	}
}

// Unanswered is the number of requests without a response.
func (h *H) Unanswered() int64 { return h.unanswered }

// above is the value of a request without a response.
func (h *H) above() int64 { return runnerv1alpha1.Above(max(h.limit, h.max)) }

// Count is the number of values recorded. It does not include Unanswered.
func (h *H) Count() int64 { return h.count }

// Min returns the exact smallest value, or 0 if the histogram is empty.
func (h *H) Min() int64 { return h.min }

// Max returns the exact largest value, or 0 if the histogram is empty.
func (h *H) Max() int64 { return h.max }

// Sum returns the exact sum of all values.
func (h *H) Sum() int64 { return h.sum }

// Mean is the exact average, 0 when there is no value.
func (h *H) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return float64(h.sum) / float64(h.count)
}

// grow is apart, so that Record stays small.
//
//go:noinline
func (h *H) grow(n int) *page {
	h.pages[n] = new(page)
	return h.pages[n]
}

func (h *H) add(i int, n int64) {
	p := h.pages[i>>pageBits]
	if p == nil {
		p = h.grow(i >> pageBits)
	}
	p[i&(pageSize-1)] += n
}

func (h *H) at(i int) int64 {
	if p := h.pages[i>>pageBits]; p != nil {
		return p[i&(pageSize-1)]
	}
	return 0
}

func (p *page) len() int {
	if p == nil {
		return 0
	}
	return pageSize
}

// addSaturated and mulSaturated are for operands that are not negative.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func mulSaturated(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high != 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
