package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// collectTimes has the distributions of all requests. They have places of their own in a snapshot
// until the final one.
func collectTimes(to chan<- prometheus.Metric, s *runnerv1alpha1.Snapshot) {
	service, lag := &s.ServiceTime, &s.Lag
	if h := s.Histograms; h != nil {
		service, lag = &h.ServiceTime, &h.Lag
	}
	to <- histogramOf(descServiceTime, service)
	to <- histogramOf(descLag, lag)
}

// histogramOf makes a histogram with native and classic buckets of a distribution.
func histogramOf(d *prometheus.Desc, encoded *runnerv1alpha1.Histogram, labels ...string) prometheus.Metric {
	h, err := histogram.Decode(*encoded)
	if err != nil {
		return prometheus.NewInvalidMetric(d, err)
	}
	classic := classic(h)
	count, sum := uint64(h.Count()), micros(h.Sum())
	buckets, zeros := native(h)
	n, err := prometheus.NewConstNativeHistogram(d, count, sum, buckets, nil, zeros,
		nativeSchema, nativeZero, time.Unix(0, 0), labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(d, err)
	}
	return &both{n, prometheus.MustNewConstHistogram(d, count, sum, classic, labels...)}
}

// both is one histogram with native and classic buckets, so that a server takes what it knows.
type both struct {
	prometheus.Metric
	classic prometheus.Metric
}

// Write implements prometheus.Metric.
func (b *both) Write(to *dto.Metric) error {
	var classic dto.Metric
	if err := b.classic.Write(&classic); err != nil {
		return err
	}
	if err := b.Metric.Write(to); err != nil {
		return err
	}
	to.Histogram.Bucket = classic.Histogram.Bucket
	to.Histogram.CreatedTimestamp = nil
	return nil
}

const (
	// nativeSchema 3 has 8 buckets for each power of two: 9 % wide, 256 from 1 us to 1 h.
	nativeSchema = 3
	// nativeZero, in seconds: what counts as zero. One microsecond is the resolution.
	nativeZero = 1e-6
)

// native sorts the values into buckets whose upper bounds are 2^(i/8) seconds. Values come in
// ascending order, so a logarithm is needed for each of those buckets and not for each of ours.
func native(h *histogram.H) (buckets map[int]int64, zeros uint64) {
	buckets = map[int]int64{}
	i, bound := 0, 0.0
	h.Each(func(highest, count int64) {
		s := micros(highest)
		if s <= nativeZero {
			zeros += uint64(count)
			return
		}
		if s > bound {
			i = int(math.Ceil(math.Log2(s) * (1 << nativeSchema)))
			bound = math.Exp2(float64(i) / (1 << nativeSchema))
		}
		buckets[i] += count
	})
	return buckets, zeros
}

// classic counts the values at or below each bound, in seconds.
func classic(h *histogram.H) map[float64]uint64 {
	out := make(map[float64]uint64, len(classicBuckets))
	next, seen := 0, uint64(0)
	h.Each(func(highest, count int64) {
		for ; next < len(classicBuckets) && classicBuckets[next] < highest; next++ {
			out[micros(classicBuckets[next])] = seen
		}
		seen += uint64(count)
	})
	for ; next < len(classicBuckets); next++ {
		out[micros(classicBuckets[next])] = seen
	}
	return out
}
