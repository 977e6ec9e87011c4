package usl

import (
	"fmt"
	"math"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// Bounds of a fit.
const (
	// MinPoints is the smallest number of points.
	MinPoints = 5
	// MaxError is the largest ScalabilityFit.Error.
	MaxError = 0.05
	// maxBeyond is how far the knee or the limit can be beyond the highest point, as a factor.
	maxBeyond = 10
)

// Of returns the fit of a judged report, nil if the run has neither a search nor MinPoints loads.
func Of(plan *rv.Plan, r *rv.Report) *rv.Scalability {
	var loads []load
	if r.Search != nil {
		loads = probes(r.Search)
	} else if loads = stages(plan, r); len(loads) < MinPoints {
		return nil
	}
	out := &rv.Scalability{}
	var points []Point
	for i := range loads {
		if p, ok := loads[i].point(); ok {
			out.Points = append(out.Points, p)
			points = append(points, Point{p.Concurrency, p.Rate})
		}
	}
	switch {
	case r.Search == nil && r.Verdict.Reason == verdict.ReasonGeneratorBound:
		out.Message = "no fit: the generator was the bottleneck"
	case len(points) < MinPoints:
		out.Message = fmt.Sprintf("no fit: %d of %d loads have a steady state and at most %s of requests without a response; %d are needed",
			len(points), len(loads), build.FormatPercent(maxUnanswered), MinPoints)
	default:
		out.Fit, out.Message = describe(points)
	}
	return out
}

// describe fits points, and says what the fit shows. The fit is nil if its error is above MaxError.
func describe(points []Point) (*rv.ScalabilityFit, string) {
	f := fit(points)
	var highest, most float64
	for _, p := range points {
		highest, most = max(highest, p.Rate), max(most, p.Concurrency)
	}
	out := &rv.ScalabilityFit{RateOfOne: 1 / f.model[0], Contention: f.model[1] / f.model[0],
		Coherency: f.model[2] / f.model[0], Error: math.Sqrt(f.sum/float64(len(points))) / highest}
	if !(out.Error <= MaxError) {
		return nil, fmt.Sprintf("no fit: its error is %s of the highest rate; at most %s is accepted",
			build.FormatPercent(out.Error), build.FormatPercent(MaxError))
	}
	if k := knee(&f); k != nil && k.Concurrency <= maxBeyond*most {
		k.Extrapolated = k.Concurrency > most
		out.Knee = k
		return out, kneeMessage(k)
	}
	message := "no knee: the points do not show that more requests in flight make the rate fall"
	if limit := 1 / f.model[1]; limit <= maxBeyond*highest {
		out.Limit = limit
		message += fmt.Sprintf("; contention limits it to %s requests per second", build.FormatRate(limit))
	}
	return out, message
}

func kneeMessage(k *rv.ScalabilityKnee) string {
	out := fmt.Sprintf("the rate is highest at %s requests in flight (95%% confidence: %s to %s): %s requests per second (%s to %s)",
		build.FormatRate(k.Concurrency), build.FormatRate(k.ConcurrencyLow), build.FormatRate(k.ConcurrencyHigh),
		build.FormatRate(k.Rate), build.FormatRate(k.RateLow), build.FormatRate(k.RateHigh))
	if k.Extrapolated {
		out += "; no point has so many, so this is an extrapolation"
	}
	return out
}

// knee returns nil if the rate has no maximum, if coherency is not greater than 0 with 97.5 % confidence, or if an
// interval has no bounds, as with contention close to 1. The interval of the concurrency is that of its logarithm.
func knee(f *fitted) *rv.ScalabilityKnee {
	t := quantile(f.free)
	if f.model[2] <= t*f.deviation(func(m model) float64 { return m[2] }) || f.model[1] >= f.model[0] {
		return nil
	}
	n := f.peak()
	factor := math.Exp(t * f.deviation(func(m model) float64 { return math.Log(m.peak()) }))
	x, wide := f.rate(n), t*f.deviation(func(m model) float64 { return m.rate(m.peak()) })
	if sum := n*factor + x + wide; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	return &rv.ScalabilityKnee{Concurrency: n, ConcurrencyLow: n / factor, ConcurrencyHigh: n * factor,
		Rate: x, RateLow: max(0, x-wide), RateHigh: x + wide}
}
