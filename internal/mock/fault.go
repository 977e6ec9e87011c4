package mock

import (
	"math"
	"math/rand/v2"
	"time"
)

// faults draws the faults of requests. The Server's lock guards it.
type faults struct {
	source *rand.PCG
	// A request has the fault if a draw from 0 to drawRange-1 is less than the bound. One 64-bit random number has both
	// draws.
	unanswered, notFound uint64
}

const drawRange = 1 << 32

func newFaults(unanswered, notFound float64, seed uint64) faults {
	if seed == 0 {
		seed = rand.Uint64()
	}
	return faults{
		source:     rand.NewPCG(seed, 0),
		unanswered: uint64(math.Round(unanswered * drawRange)),
		notFound:   uint64(math.Round(notFound * drawRange)),
	}
}

func (f *faults) draw() (unanswered, notFound bool) {
	if f.unanswered|f.notFound == 0 {
		return false, false
	}
	x := f.source.Uint64()
	return x>>32 < f.unanswered, x%drawRange < f.notFound
}

// delay computes when an answer is sent. All times are nanoseconds since the start of the server.
type delay struct {
	latency, stallFor, stallEvery int64
}

func newDelay(latency time.Duration, s Stall) delay {
	return delay{latency: int64(latency), stallFor: int64(s.For), stallEvery: int64(s.Every)}
}

// due returns when a request that arrived at now is answered. It never decreases as now grows,
// so delayed answers form a FIFO.
func (d delay) due(now int64) int64 {
	t := now + d.latency
	if d.stallEvery == 0 {
		return t
	}
	if left := d.stallEvery - t%d.stallEvery; left <= d.stallFor {
		return t + left
	}
	return t
}
