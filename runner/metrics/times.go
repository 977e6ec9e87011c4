package metrics

import (
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

// collectPhases has the phases of each target. The first byte of a target is the sum of its steps.
func collectPhases(to chan<- prometheus.Metric, plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot) {
	for i := range s.Targets {
		t := &s.Targets[i]
		for _, p := range []struct {
			name  string
			times *runnerv1alpha1.Histogram
		}{
			{"name_resolution", &t.NameResolution}, {"tcp_connect", &t.TCPConnect}, {"tls_handshake", &t.TLSHandshake},
			{"settings", &t.Settings},
			{"reconnecting", &t.Reconnecting}, {"blocked", &t.Blocked}, {"body", &t.Body},
		} {
			if p.times.Count > 0 {
				to <- histogramOf(descPhase, p.times, plan.Targets[i].Name, p.name)
			}
		}
		first, err := firstByteOf(plan, s, i)
		switch {
		case err != nil:
			to <- prometheus.NewInvalidMetric(descPhase, err)
		case first.Count() > 0:
			to <- metricOf(descPhase, first, plan.Targets[i].Name, "first_byte")
		}
	}
}

// firstByteOf adds up the time to first byte of the steps of a target.
func firstByteOf(plan *runnerv1alpha1.Plan, s *runnerv1alpha1.Snapshot, target int) (*histogram.H, error) {
	out := histogram.New()
	next := 0
	for c := range plan.Chains {
		for i := range plan.Chains[c].Steps {
			if plan.Chains[c].Steps[i].Target == target && next < len(s.Steps) {
				h, err := histogram.Decode(s.Steps[next].TimeToFirstByte)
				if err != nil {
					return nil, err
				}
				out.Merge(h)
			}
			next++
		}
	}
	return out, nil
}

// histogramOf makes a histogram of a distribution in wire form.
func histogramOf(d *prometheus.Desc, encoded *runnerv1alpha1.Histogram, labels ...string) prometheus.Metric {
	h, err := histogram.Decode(*encoded)
	if err != nil {
		return prometheus.NewInvalidMetric(d, err)
	}
	return metricOf(d, h, labels...)
}

// metricOf makes a histogram with native and classic buckets of a distribution. Requests without a response are in the
// bucket +Inf.
func metricOf(d *prometheus.Desc, h *histogram.H, labels ...string) prometheus.Metric {
	classic := classic(h)
	count, sum := uint64(h.Count()+h.Unanswered()), micros(h.Sum())
	buckets, zeros := h.Exponential()
	if n := h.Unanswered(); n > 0 {
		buckets[nativeInfinity] = n
	}
	n, err := prometheus.NewConstNativeHistogram(d, count, sum, buckets, nil, zeros,
		histogram.ExponentialScale, histogram.ExponentialZero, time.Unix(0, 0), labels...)
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

// nativeInfinity is the bucket of values above the largest float64, which is below 2^1024.
const nativeInfinity = 1024<<histogram.ExponentialScale + 1

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
