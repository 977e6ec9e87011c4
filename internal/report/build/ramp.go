package build

import (
	"math"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// rateEnds returns the rate at the start and at the end of a stage, in slots a second. They are zero for a closed loop.
func rateEnds(r *runnerv1alpha1.Rate) (from, to float64) {
	if r.ClosedLoop || r.Period <= 0 {
		return 0, 0
	}
	to = float64(r.Count) / r.Period.Seconds()
	if r.RampFrom == nil {
		return to, to
	}
	return float64(*r.RampFrom) / r.Period.Seconds(), to
}

// RateAt returns the rate of a stage in slots a second, at a time since its start without pauses.
func RateAt(r *runnerv1alpha1.Rate, elapsed time.Duration) float64 {
	from, to := rateEnds(r)
	if r.Duration <= 0 {
		return to
	}
	return from + (to-from)*min(1, elapsed.Seconds()/r.Duration.Seconds())
}

// slotsAt returns the number of slots of a stage until a time since its start without pauses. It is the integral of
// the rate. After the duration of the stage, the rate is that at the end.
func slotsAt(r *runnerv1alpha1.Rate, elapsed time.Duration) float64 {
	from, to := rateEnds(r)
	ramp := elapsed
	if r.Duration > 0 {
		ramp = min(elapsed, r.Duration)
	}
	return (from+RateAt(r, ramp))/2*ramp.Seconds() + to*(elapsed-ramp).Seconds()
}

// Nominal returns how many seconds a stage lasts if its slots are even; zero: not known in advance.
func Nominal(r *runnerv1alpha1.Rate) float64 {
	lasts := r.Duration.Seconds()
	if n := float64(r.Requests); n > 0 {
		if by := secondsTo(r, n); by > 0 && (lasts == 0 || by < lasts) {
			return by
		}
	}
	return lasts
}

// secondsTo returns the time after which a stage has had n slots; zero: never.
func secondsTo(r *runnerv1alpha1.Rate, n float64) float64 {
	from, to := rateEnds(r)
	if from == to {
		if to == 0 {
			return 0
		}
		return n / to
	}
	// n is the solution of from*t + slope*t*t/2.
	root := from*from + 2*n*(to-from)/r.Duration.Seconds()
	if root < 0 {
		return 0
	}
	return 2 * n / (from + math.Sqrt(root))
}
