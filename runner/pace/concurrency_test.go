package pace

import (
	"math/rand/v2"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestConcurrencyAddsUp: at each instant of random ramps, the limits of random workers add up to the limit of the stage, and
// a limit rises at the instant that Concurrency has returned before, and not earlier.
func TestConcurrencyAddsUp(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		from, n, workers := r.Int64N(40), 1+r.Int64N(40), 1+r.Int64N(9)
		rate := rv.Rate{ClosedLoop: true, Count: n, RampFrom: &from, Duration: time.Duration(1 + r.Int64N(1000))}
		if r.IntN(4) == 0 {
			rate.RampFrom = nil
		}
		all := make([]Schedule, workers)
		for k := range all {
			all[k] = New([]rv.Rate{rate}, rv.Slots{Of: workers, Residues: []int64{int64(k)}})
			all[k].Start(0)
			all[k].Advance(1)
		}
		before, risesAt := make([]int64, workers), make([]int64, workers)
		for now := range int64(rate.Duration) {
			sum := int64(0)
			for k := range all {
				limit, rises := all[k].Concurrency(now)
				if now > 0 && limit > before[k] && now < risesAt[k] || now == risesAt[k] && now > 0 && limit <= before[k] {
					t.Fatalf("%+v, worker %d at %d: limit %d after %d, which rises at %d", rate, k, now, limit, before[k], risesAt[k])
				}
				before[k], risesAt[k] = limit, rises
				sum += limit
			}
			want := n
			if rate.RampFrom != nil {
				want = (from*int64(rate.Duration) + (n-from)*now) / int64(rate.Duration)
			}
			if sum != want {
				t.Fatalf("%+v at %d: %d requests may be in flight, want %d", rate, now, sum, want)
			}
		}
	}
}
