package target

import (
	"math"
	"math/rand/v2"
	"time"
)

// faults draws which requests go wrong. It belongs to whoever holds the Server's lock.
type faults struct {
	source *rand.PCG
	// A draw below the bound hits. The bounds are out of 1<<32, so that 1 hits always and one
	// 64-bit number serves both draws.
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

// delay tells when answers may leave. All times are nanoseconds since the server began.
type delay struct {
	latency, stallFor, stallEvery int64
}

func newDelay(latency time.Duration, s Stall) delay {
	return delay{latency: int64(latency), stallFor: int64(s.For), stallEvery: int64(s.Every)}
}

// none reports that every answer leaves at once.
func (d delay) none() bool { return d.latency == 0 && d.stallEvery == 0 }

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
