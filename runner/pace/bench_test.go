package pace

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// BenchmarkTake measures how long a worker needs to find its next slot.
func BenchmarkTake(b *testing.B) {
	for name, rate := range map[string]rv.Rate{
		"even":    {Count: 100_000, Period: time.Second, Duration: 1 << 50},
		"ramp":    {Count: 100_000, Period: time.Second, Duration: time.Hour, RampFrom: new(int64)},
		"poisson": {Count: 100_000, Period: time.Second, Duration: 1 << 50, Arrivals: rv.ArrivalsPoisson},
		"burst":   {Count: 100_000, Period: time.Second, Duration: 1 << 50, Arrivals: rv.ArrivalsBurst, BurstSize: 10},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := New([]rv.Rate{rate}, rv.Slots{Of: 6, Residues: []int64{1, 4}})
			s.Start(1000)
			s.Advance(Never)
			for b.Loop() {
				s.Take()
			}
		})
	}
}
