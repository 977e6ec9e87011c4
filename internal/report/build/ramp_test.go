package build

import (
	"math"
	"testing"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestRamp: rate, slots and length of stages that ramp, computed by hand.
func TestRamp(t *testing.T) {
	const s = time.Second
	ramp := func(from, to, requests int64) runnerv1alpha1.Rate {
		return runnerv1alpha1.Rate{Count: to, Period: s, RampFrom: &from, Duration: 10 * s, Requests: requests}
	}
	for _, tt := range []struct {
		name string
		rate runnerv1alpha1.Rate
		at   time.Duration
		// perSecond and slots are those at the time, lasts is the length of the stage in seconds.
		perSecond, slots, lasts float64
	}{
		{"up", ramp(0, 100, 0), 4 * s, 40, 80, 10},
		{"down", ramp(100, 0, 0), 4 * s, 60, 320, 10},
		{"after the end", ramp(0, 100, 0), 12 * s, 100, 700, 10},
		{"up until requests", ramp(0, 100, 80), 4 * s, 40, 80, 4},
		{"down until requests", ramp(100, 0, 320), 4 * s, 60, 320, 4},
		{"more requests than slots", ramp(100, 0, 600), 10 * s, 0, 500, 10},
		{"constant", runnerv1alpha1.Rate{Count: 50, Period: s, Requests: 200}, 2 * s, 50, 100, 4},
		{"pause", runnerv1alpha1.Rate{Period: s, Duration: 3 * s}, s, 0, 0, 3},
		{"closed loop", runnerv1alpha1.Rate{ClosedLoop: true, Count: 5, Requests: 9}, s, 0, 0, 0},
	} {
		got := [3]float64{RateAt(&tt.rate, tt.at), slotsAt(&tt.rate, tt.at), Nominal(&tt.rate)}
		for i, want := range []float64{tt.perSecond, tt.slots, tt.lasts} {
			if math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%s: rate, slots and length are %v, want %v, %v and %v", tt.name, got, tt.perSecond, tt.slots, tt.lasts)
				break
			}
		}
	}
}
