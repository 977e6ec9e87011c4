package main

import (
	"slices"
)

// spread sums up one figure over the rounds. Of few and noisy rounds the median is the one to
// trust; the extremes tell how far.
type spread struct {
	median, min, max float64
}

// spreadOf of no values is zero.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return spread{median: (s[(n-1)/2] + s[n/2]) / 2, min: s[0], max: s[n-1]}
}

// ratios are a/b round by round, so that what disturbs both sides of a round cancels out.
func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if b[i] > 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return out
}
