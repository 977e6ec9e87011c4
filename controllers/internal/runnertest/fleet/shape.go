package main

import (
	"math"
	"sync"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// variants is the number of different distributions that runners and steps have.
const variants = 8

// shape gives the snapshots of a plan's runners the size of real ones: each step has its counts and its distribution.
// The responses of the last second are still in flight, so runners with the same rate report the same distributions and
// one encoding serves many.
type shape struct {
	quantum int64 // requests that a runner sends in a second
	series  [variants]series
}

func newShape(plan *runnerv1alpha1.Plan) *shape {
	s := &shape{quantum: 1}
	for i := range plan.Rates {
		if r := &plan.Rates[i]; r.Period > 0 {
			s.quantum = max(s.quantum, r.Count*1_000_000_000/int64(r.Period)/int64(max(1, plan.Shards)))
		}
	}
	for i := range s.series {
		s.series[i].median = 1500 * math.Pow(1.2, float64(i))
	}
	return s
}

// apply is called with a snapshot that nothing else refers to.
func (s *shape) apply(out *runnerv1alpha1.Snapshot) {
	sent := out.Counters.Sent
	done := sent
	if out.State == runnerv1alpha1.StateRunning {
		done = sent - sent%s.quantum
	}
	c := &out.Counters
	c.Done, c.Succeeded, c.InFlightAtEnd = done, done, sent-done
	c.BytesSent, c.BytesReceived = sent*200, done*1000
	out.StatusCodes = map[string]int64{"200": done}
	if done == 0 {
		delete(out.StatusCodes, "200")
	}
	v := out.Shard % variants
	out.ResponseTime, out.ServiceTime, out.Lag = s.series[v].of(done), s.series[(v+1)%variants].of(done),
		s.series[(v+2)%variants].of(done)
	if out.Histograms != nil {
		out.ServiceTime, out.Lag = runnerv1alpha1.Histogram{}, runnerv1alpha1.Histogram{}
		h := s.series[v].of(done)
		out.Histograms = &runnerv1alpha1.Histograms{ServiceTime: h, TimeToFirstByte: h, Lag: h}
	}
	n := int64(len(out.Steps))
	for i := range out.Steps {
		of := done / n
		if i == 0 {
			of += done % n
		}
		step := &out.Steps[i]
		*step = runnerv1alpha1.StepCounters{Outcomes: runnerv1alpha1.Outcomes{Sent: of, Done: of, Succeeded: of},
			OccupiedMicroseconds: of * 2000}
		if i == 0 {
			step.Sent += sent - done
			step.InFlightAtEnd = sent - done
		}
		step.StatusClasses[1] = of
		step.ResponseTime = s.series[(v+i)%variants].of(of)
	}
	for i := range out.Chains {
		out.Chains[i] = runnerv1alpha1.ChainCounters{}
		if i == 0 {
			out.Chains[i] = runnerv1alpha1.ChainCounters{Started: sent, Completed: done, Unfinished: sent - done}
		}
	}
}

// series is a distribution that grows: the first n times of a sequence.
type series struct {
	median float64

	mu      sync.Mutex
	h       *histogram.H                       // guarded by mu
	encoded map[int64]runnerv1alpha1.Histogram // guarded by mu
}

// kept bounds the number of encodings.
const kept = 512

// of returns the distribution of the first n times.
func (s *series) of(n int64) runnerv1alpha1.Histogram {
	s.mu.Lock()
	defer s.mu.Unlock()
	if out, ok := s.encoded[n]; ok {
		return out
	}
	if s.h == nil || s.h.Count() > n {
		s.h = histogram.New()
	}
	for i := s.h.Count(); i < n; i++ {
		s.h.Record(s.at(i))
	}
	if len(s.encoded) >= kept || s.encoded == nil {
		s.encoded = map[int64]runnerv1alpha1.Histogram{}
	}
	s.encoded[n] = s.h.Encode()
	return s.encoded[n]
}

// at returns time i in microseconds. The times are spread as a logistic distribution of the logarithm, with a tail.
func (s *series) at(i int64) int64 {
	_, x := math.Modf(float64(i+1) * math.Phi)
	x = min(max(x, 1e-6), 1-1e-6)
	return int64(s.median * math.Pow(x/(1-x), 0.35))
}
