package pace

import (
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// BenchmarkTake measures how long a worker needs to find its next slot.
func BenchmarkTake(b *testing.B) {
	s := New([]rv.Rate{{Count: 100_000, Period: time.Second, Duration: 1 << 50}}, rv.Slots{Of: 6, Residues: []int64{1, 4}})
	s.Start(1000)
	s.Advance(Never)
	for b.Loop() {
		s.Take()
	}
}
