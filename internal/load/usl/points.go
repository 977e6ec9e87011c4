package usl

import (
	"fmt"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Bounds of a point.
const (
	// maxUnanswered is the largest share of requests without a response: their times are not known.
	maxUnanswered = 0.01
	// maxSettling is the longest mean response time of a rate, as a share of the time of the load. A longer one shows
	// that requests queued until the load ended, so that the rate of responses was below that of requests.
	maxSettling = 0.02
	// mostOfRamp is the maximum number of points of one ramp. Neighbouring windows are joined.
	mostOfRamp = 20
)

// load has the counts of one load.
type load struct {
	of string
	// seconds is how long the load lasted, and busy the sum of all response times, in seconds.
	seconds, busy                   float64
	answered, unanswered, succeeded int64
	// closed is true for a closed loop, which waits for responses.
	closed bool
}

// point returns false if the counts do not show how much is in flight.
func (l *load) point() (rv.ScalabilityPoint, bool) {
	if l.seconds <= 0 || l.answered == 0 || l.succeeded == 0 ||
		float64(l.unanswered) > maxUnanswered*float64(l.answered+l.unanswered) ||
		!l.closed && l.busy > maxSettling*l.seconds*float64(l.answered) {
		return rv.ScalabilityPoint{}, false
	}
	return rv.ScalabilityPoint{Of: l.of, Concurrency: l.busy / l.seconds, Rate: float64(l.succeeded) / l.seconds}, true
}

// add adds the counts of a load with these times.
func (l *load) add(seconds float64, answered, unanswered, succeeded int64, mean float64) {
	l.seconds += seconds
	l.busy += float64(answered) * mean / 1e6
	l.answered, l.unanswered, l.succeeded = l.answered+answered, l.unanswered+unanswered, l.succeeded+succeeded
}

// of returns a load with the counts of a probe or a stage that was sent at a rate.
func of(name string, closed bool, sent int64, rate float64, t *rv.Times, succeeded int64) load {
	out := load{of: name, closed: closed}
	if rate > 0 {
		out.add(float64(sent)/rate, t.Count-t.Unanswered, t.Unanswered, succeeded, float64(t.Mean))
	}
	return out
}

// probes returns the loads of a search at which the generator was not the bottleneck.
func probes(s *rv.SearchResult) (out []load) {
	for i := range s.Probes {
		p := &s.Probes[i]
		if p.Outcome == rv.ProbeHeld || p.Outcome == rv.ProbeFailed {
			out = append(out, of(fmt.Sprintf("probe %d", i+1), s.Concurrency, p.Sent, p.Achieved, &p.ResponseTime,
				p.Succeeded))
		}
	}
	return out
}

// stages returns the loads of the measured stages, and of the windows of ramps. It returns none if chains have stages
// of their own: several loads are then active at the same time.
func stages(plan *rv.Plan, r *rv.Report) (out []load) {
	if len(r.Stages) != len(plan.Rates) {
		return nil
	}
	for i := range r.Stages {
		s, rate := &r.Stages[i], &plan.Rates[i]
		switch {
		case s.Chain != "":
			return nil
		case s.WarmUp:
		case rate.RampFrom != nil:
			out = append(out, ramp(s.Name, r.Windows)...)
		case s.Figures != nil:
			out = append(out, of(s.Name, rate.ClosedLoop, s.Sent, s.Achieved, &s.Figures.ResponseTime, s.Figures.Succeeded))
		}
	}
	return out
}

// ramp returns the loads of the windows of a stage. Its first and last window can have requests of other stages.
func ramp(stage string, windows []rv.Window) []load {
	var of []*rv.Window
	for i := range windows {
		if w := &windows[i]; w.Stage == stage && !w.Suspended && w.Histogram.Count > 0 {
			of = append(of, w)
		}
	}
	if len(of) < 3 {
		return nil
	}
	of = of[1 : len(of)-1]
	out := make([]load, min(mostOfRamp, len(of)))
	for i, w := range of {
		l := &out[i*len(out)/len(of)]
		l.of = stage
		h := &w.Histogram
		l.add(float64(w.To-w.From)/1000, h.Count, h.Unanswered, w.Succeeded, float64(h.Sum)/float64(h.Count))
	}
	return out
}
