package main

import (
	"slices"
)

// spread sums up one figure over the rounds. Of few and noisy rounds the median is the one to
// trust; the extremes show how far.
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

// runs are those of a side, one for each round.
type runs []measured

// figure is one of a run.
type figure func(m measured) float64

func rate(m measured) float64  { return m.perSecond }
func p99ms(m measured) float64 { return m.times.p99.Seconds() * 1e3 }

// cpu is in microseconds of a request.
func cpu(m measured) float64 {
	if m.requests == 0 {
		return 0
	}
	return float64(m.cpu.Nanoseconds()) / 1e3 / float64(m.requests)
}

func (r runs) of(f figure) spread {
	var values []float64
	for _, m := range r {
		values = append(values, f(m))
	}
	return spreadOf(values)
}

// over is the ratio to the other side round by round, so that what disturbs both sides of a round cancels out.
func (r runs) over(other runs, f figure) spread {
	var ratios []float64
	for i := range min(len(r), len(other)) {
		if v := f(other[i]); v > 0 {
			ratios = append(ratios, f(r[i])/v)
		}
	}
	return spreadOf(ratios)
}
