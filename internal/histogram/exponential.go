package histogram

import "math"

const (
	// ExponentialScale 3 has 8 buckets for each power of two: 9% wide, 256 from 1 us to 1 h. Prometheus calls it schema.
	ExponentialScale = 3
	// ExponentialZero, in seconds, is the largest value that counts as zero: one microsecond is the resolution.
	ExponentialZero = 1e-6
)

// Exponential returns the values in buckets whose upper bounds are 2^(i/8) seconds, and how many count as zero. Values
// come in ascending order, so a logarithm is needed for each of those buckets and not for each of ours. Requests
// without a response are in no bucket.
func (h *H) Exponential() (buckets map[int]int64, zeros uint64) {
	buckets = map[int]int64{}
	i, bound := 0, 0.0
	h.Each(func(highest, count int64) {
		s := float64(highest) / 1e6
		if s <= ExponentialZero {
			zeros += uint64(count)
			return
		}
		if s > bound {
			i = int(math.Ceil(math.Log2(s) * (1 << ExponentialScale)))
			bound = math.Exp2(float64(i) / (1 << ExponentialScale))
		}
		buckets[i] += count
	})
	return buckets, zeros
}
