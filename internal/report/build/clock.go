package build

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// clock divides the time of a run into intervals, each between two looks at all runners. T is what its user keeps of
// each runner.
type clock[T any] struct {
	// runners are in the order of compare.
	runners []*looked[T]
	// expected is the number of shards at the start; the first interval waits for them.
	expected  int
	hasClosed bool
	// first is the beginning of the first interval, and from that of the open one. latest is how far the runners are.
	first, from, latest time.Duration
}

// looked is a runner: at the beginning of the open interval, and now.
type looked[T any] struct {
	Runner
	base, last seen
	// gap is the time between the last two looks.
	gap time.Duration
	// silent: it did not answer in the last interval, so the next ones do not wait for it.
	silent bool
	// resumed is true if what the runner did before was not watched.
	resumed bool
	own     T
}

// seen is what intervals need of a snapshot, in less than a third of its memory: an operator has two for each shard.
type seen struct {
	sequence                           uint64
	revision                           int64
	state                              runnerv1alpha1.State
	clock, startAt, startedAt, endedAt int64
	suspended, leaseExpired            bool
	leaseGaps                          runnerv1alpha1.LeaseGaps
	counters                           runnerv1alpha1.Counters
	stages                             []runnerv1alpha1.StageCounters
	// offset is the time from the start of the test to the snapshot.
	offset time.Duration
}

func seenOf(s *runnerv1alpha1.Snapshot) seen {
	return seen{
		sequence: s.Sequence, revision: s.Revision, state: s.State, clock: s.Clock, startAt: s.StartAt,
		startedAt: s.StartedAt, endedAt: s.EndedAt, suspended: s.Suspended, leaseExpired: s.LeaseExpired,
		leaseGaps: s.LeaseGaps, counters: s.Counters, stages: s.Stages, offset: offset(s),
	}
}

// snapshot returns a snapshot with the stages and the times.
func (s *seen) snapshot() runnerv1alpha1.Snapshot {
	return runnerv1alpha1.Snapshot{Clock: s.clock, StartAt: s.startAt, StartedAt: s.startedAt, EndedAt: s.endedAt,
		Stages: s.stages}
}

func (s *seen) slots() (n int64) {
	for i := range s.stages {
		n += s.stages[i].Slots
	}
	return n
}

const (
	// early is how much less than its length an interval may last: looks are never exactly a second apart.
	early = 250 * time.Millisecond
	// missed is the longest time from the first turn of a runner to the first look at it. After a longer time, what
	// the runner did before the look is in no interval.
	missed = 5 * time.Second
)

func newClock[T any](shards int) clock[T] {
	return clock[T]{expected: shards}
}

// find returns the runner of a snapshot, and whether it is new. A new one is not in runners yet. It returns nil for a
// snapshot that was overtaken, or of a runner that has not begun. Those after the final one are the same.
func (c *clock[T]) find(s *runnerv1alpha1.Snapshot) (p *looked[T], isNew bool) {
	if s.StartedAt == 0 || offset(s) < 0 {
		return nil, false
	}
	r := runnerOf(s)
	if i, known := c.search(r); known {
		p = c.runners[i]
		if s.Sequence <= p.last.sequence || p.last.state == runnerv1alpha1.StateDone {
			return nil, false
		}
		return p, false
	}
	if time.Duration(s.Clock-s.StartedAt) > missed {
		if len(c.runners) == 0 {
			c.first, c.from = offset(s), offset(s)
		}
		return &looked[T]{Runner: r, base: seenOf(s), resumed: true}, true
	}
	// A runner that joined has its first turn after the start of the test.
	return &looked[T]{Runner: r, base: seenOf(&runnerv1alpha1.Snapshot{StartAt: s.StartAt, StartedAt: s.StartedAt,
		Clock: s.StartedAt, Suspended: s.Suspended})}, true
}

func (c *clock[T]) search(r Runner) (i int, found bool) {
	return slices.BinarySearchFunc(c.runners, r, func(p *looked[T], r Runner) int { return compare(p.Runner, r) })
}

// add adds a runner that find has returned as new.
func (c *clock[T]) add(p *looked[T]) {
	if i, found := c.search(p.Runner); !found {
		c.runners = slices.Insert(c.runners, i, p)
	}
}

// look notes a snapshot of a runner that find has returned.
func (c *clock[T]) look(p *looked[T], s *runnerv1alpha1.Snapshot) {
	now := seenOf(s)
	p.gap = now.offset - max(p.base.offset, p.last.offset)
	p.last, p.silent = now, false
	c.latest = max(c.latest, now.offset)
	c.add(p)
}

// isDue returns whether an interval of a length ends: all runners that are awaited were looked at, or the others are
// too late. They are if one was looked at twice the length after its last look in the interval before, and the interval
// is longer by the length than the gap between two looks at it. With many runners, the gap is longer than the length.
func (c *clock[T]) isDue(length time.Duration) bool {
	all, lasts := len(c.runners) >= c.expected || c.hasClosed, c.end()-c.from
	if lasts < length-early {
		return false
	}
	for _, p := range c.runners {
		if p.span() >= 2*length && lasts >= p.gap+length-early {
			return true
		}
		if !p.silent && p.last.state != runnerv1alpha1.StateDone && p.span() < length-early {
			all = false
		}
	}
	return all
}

// IsComplete returns whether each runner has sent its final snapshot, or sends none any more.
func (c *clock[T]) IsComplete() bool {
	return (len(c.runners) >= c.expected || c.hasClosed) && !slices.ContainsFunc(c.runners, func(p *looked[T]) bool {
		return p.last.state != runnerv1alpha1.StateDone && !p.isOver()
	})
}

// end is the end of the open interval so far.
func (c *clock[T]) end() time.Duration { return max(c.from, c.latest) }

// close begins the next interval.
func (c *clock[T]) close() {
	c.from, c.hasClosed = c.end(), true
	for _, p := range c.runners {
		p.silent = p.span() == 0
		p.base, p.resumed = p.last, false
	}
}

// span is the time between the two looks at a runner.
func (p *looked[T]) span() time.Duration { return p.last.offset - p.base.offset }

// isOver returns true if the last snapshot of the runner was before the interval, or if the runner sends no snapshots
// any more.
func (p *looked[T]) isOver() bool {
	return p.base.state == runnerv1alpha1.StateDone || p.silent && p.span() == 0
}

// isPaused returns whether the runner was suspended at both looks, and no slot was due in between.
func (p *looked[T]) isPaused() bool {
	return p.base.suspended && p.last.suspended && p.base.slots() == p.last.slots()
}

// loadSpan is the time between the two looks at a runner, until the end of its load.
func (p *looked[T]) loadSpan() time.Duration {
	if p.last.endedAt == 0 {
		return p.span()
	}
	s := p.last.snapshot()
	return max(0, min(p.last.offset, SinceStart(&s, s.EndedAt))-p.base.offset)
}

// isSteady returns whether the runner sent load in the whole interval, or until the end of its load.
func (p *looked[T]) isSteady() bool {
	return p.span() > 0 && !p.base.suspended && !p.last.suspended &&
		!p.base.leaseExpired && !p.last.leaseExpired && p.base.leaseGaps == p.last.leaseGaps && !p.resumed
}
