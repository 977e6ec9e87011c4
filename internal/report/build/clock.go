package build

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// clock divides the time of a run into intervals, each between two looks at all runners. T is what its user keeps of
// each runner.
type clock[T any] struct {
	runners map[Runner]*looked[T]
	// expected is the number of shards at the start; the first interval waits for them.
	expected  int
	hasClosed bool
	// first is the beginning of the first interval, and from that of the open one.
	first, from time.Duration
}

// looked is a runner: at the beginning of the open interval, and now. Neither snapshot has distributions.
type looked[T any] struct {
	base, last runnerv1alpha1.Snapshot
	// gap is the time between the last two looks.
	gap time.Duration
	// silent: it did not answer in the last interval, so the next ones do not wait for it.
	silent bool
	// resumed is true if what the runner did before was not watched.
	resumed bool
	own     T
}

const (
	// early is how much less than its length an interval may last: looks are never exactly a second apart.
	early = 250 * time.Millisecond
	// missed is the longest time from the first turn of a runner to the first look at it. After a longer time, what
	// the runner did before the look is in no interval.
	missed = 5 * time.Second
)

func newClock[T any](shards int) clock[T] {
	return clock[T]{runners: map[Runner]*looked[T]{}, expected: shards}
}

// find returns the runner of a snapshot, and whether it is new. A new one is not in runners yet. It returns nil for a
// snapshot that was overtaken, or of a runner that has not begun. Those after the final one are the same.
func (c *clock[T]) find(s *runnerv1alpha1.Snapshot) (p *looked[T], isNew bool) {
	if s.StartedAt == 0 || offset(s) < 0 {
		return nil, false
	}
	if p = c.runners[runnerOf(s)]; p != nil {
		if s.Sequence <= p.last.Sequence || p.last.State == runnerv1alpha1.StateDone {
			return nil, false
		}
		return p, false
	}
	if time.Duration(s.Clock-s.StartedAt) > missed {
		if len(c.runners) == 0 {
			c.first, c.from = offset(s), offset(s)
		}
		return &looked[T]{base: slim(s), resumed: true}, true
	}
	// A runner that joined has its first turn after the start of the test.
	return &looked[T]{base: runnerv1alpha1.Snapshot{StartAt: s.StartAt, StartedAt: s.StartedAt, Clock: s.StartedAt,
		Suspended: s.Suspended}}, true
}

// look notes a snapshot of a runner that find has returned.
func (c *clock[T]) look(p *looked[T], s *runnerv1alpha1.Snapshot) {
	p.gap = offset(s) - max(offset(&p.base), offset(&p.last))
	p.last, p.silent = slim(s), false
	c.runners[runnerOf(s)] = p
}

// slim returns what intervals need of a snapshot, without steps, which may hold megabytes.
func slim(s *runnerv1alpha1.Snapshot) runnerv1alpha1.Snapshot {
	return runnerv1alpha1.Snapshot{
		Shard: s.Shard, Boot: s.Boot, Sequence: s.Sequence, Revision: s.Revision, State: s.State, Clock: s.Clock,
		StartAt: s.StartAt, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Suspended: s.Suspended, Counters: s.Counters,
		Stages:       s.Stages,
		LeaseExpired: s.LeaseExpired, LeaseGaps: s.LeaseGaps,
	}
}

// isDue returns whether an interval of a length ends: all runners that are awaited were looked at, or the others are
// too late. They are if one was looked at twice the length after its last look in the interval before, and the interval
// is longer by the length than the gap between two looks at it. With many runners, the gap is longer than the length.
func (c *clock[T]) isDue(length time.Duration) bool {
	all, lasts := len(c.runners) >= c.expected || c.hasClosed, c.end()-c.from
	for _, p := range c.runners {
		if p.span() >= 2*length && lasts >= p.gap+length-early {
			return true
		}
		if !p.silent && p.last.State != runnerv1alpha1.StateDone && p.span() < length-early {
			all = false
		}
	}
	return all && lasts >= length-early
}

// end is how far the runners are.
func (c *clock[T]) end() time.Duration {
	end := c.from
	for _, p := range c.runners {
		end = max(end, offset(&p.last))
	}
	return end
}

// close begins the next interval.
func (c *clock[T]) close() {
	c.from, c.hasClosed = c.end(), true
	for _, p := range c.runners {
		p.silent = p.span() == 0
		p.base, p.resumed = p.last, false
	}
}

// span is the time between the two looks at a runner.
func (p *looked[T]) span() time.Duration { return offset(&p.last) - offset(&p.base) }

// isOver returns true if the last snapshot of the runner was before the interval, or if the runner sends no snapshots
// any more.
func (p *looked[T]) isOver() bool {
	return p.base.State == runnerv1alpha1.StateDone || p.silent && p.span() == 0
}

// isPaused returns whether the runner was suspended at both looks, and no slot was due in between.
func (p *looked[T]) isPaused() bool {
	return p.base.Suspended && p.last.Suspended && slotsOf(&p.base) == slotsOf(&p.last)
}

// isSteady returns whether the runner sent load in the whole interval.
func (p *looked[T]) isSteady() bool {
	return p.span() > 0 && p.last.EndedAt == 0 && !p.base.Suspended && !p.last.Suspended &&
		!p.base.LeaseExpired && !p.last.LeaseExpired && p.base.LeaseGaps == p.last.LeaseGaps && !p.resumed
}

func slotsOf(s *runnerv1alpha1.Snapshot) (n int64) {
	for i := range s.Stages {
		n += s.Stages[i].Slots
	}
	return n
}
