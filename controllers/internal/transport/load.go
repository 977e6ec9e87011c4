package transport

import (
	"sync/atomic"
	"time"

	"github.com/h2surge/h2surge/controllers/internal/shards"
)

const (
	// pollsPerSecond bounds the polls of all runners that work, of all runs.
	pollsPerSecond = 700
	// maxPollInterval bounds the time between two polls of a runner, so that status is never older than a few seconds and
	// a lease is renewed in time.
	maxPollInterval = 3 * time.Second
	// hurry is the least interval while the operator waits for connections, the start, or an end. A runner
	// then has little else to do.
	hurry = 100 * time.Millisecond
	// hurriedPollsPerSecond and maxHurry are the bounds for runners that have no load to send yet, or no more: their
	// snapshots are small.
	hurriedPollsPerSecond = 2000
	maxHurry              = time.Second
	// maxLarge is the number of large snapshots that an operator has in memory at the same time: the final one of 256
	// steps has some 2 MB.
	maxLarge = 8
)

// Load is what all runners that an operator polls share.
type Load struct {
	runners atomic.Int64
	// large has an element for each large snapshot in memory.
	large chan struct{}
}

// NewLoad returns the load of no runners.
func NewLoad() *Load { return &Load{large: make(chan struct{}, maxLarge)} }

// Count adds to the number of runners that the operator polls.
func (l *Load) Count(more int) { l.runners.Add(int64(more)) }

// Pace returns the times between two polls of a runner. The regular one is least, and more if there are many runners:
// with a least of 1 s it is
// 1 s for 700 runners, and 2 s for 1400. Hurried polls have 100 ms between them for up to 200 runners, and a second for
// 2000.
func (l *Load) Pace(least time.Duration) shards.Pace {
	second := time.Duration(l.runners.Load()) * time.Second
	return shards.Pace{
		Least:   least,
		Regular: max(least, min(second/pollsPerSecond, maxPollInterval)),
		Hurried: min(least, max(hurry, min(second/hurriedPollsPerSecond, maxHurry))),
	}
}
