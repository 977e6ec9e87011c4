package loop

import (
	"math"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/runner/pace"
)

const never = pace.Never

// schedule is which slots the worker has, when they are due, and which changes come.
type schedule struct {
	pace.Schedule
	// startAt is the start instant, never: not known yet. startedAt is when the worker first saw that it had passed, zero: not
	// yet. earliestPickUp is when the worker may take slots again.
	startAt, startedAt, earliestPickUp int64
	// changes wait for their instants, in this order.
	changes []Change
	// numbered is true after the first change of a share, if there are values that occur once in the test: these follow from
	// the numbers of slots.
	numbered bool
	// numberOfSlot is the first number of the slot that was numbered last.
	numberOfSlot int64
}

func newSchedule(rates []rv.Rate, slots rv.Slots) schedule {
	return schedule{Schedule: pace.New(rates, slots), startAt: never}
}

// start sets the start instant, and adds changes that the worker has missed.
func (s *schedule) start(at int64, changes []Change) {
	s.startAt = at
	s.Start(at)
	s.changes = append(s.changes, changes...)
}

// advance moves to the next stage if the current one ends before an instant.
func (s *schedule) advance(until, now int64) bool {
	if !s.Advance(until) {
		return false
	}
	if s.startedAt == 0 {
		s.startedAt = now
	}
	return true
}

// pickUpAgain sets when the worker may take slots again.
func (s *schedule) pickUpAgain(at int64) { s.earliestPickUp = at }

// add adds a change.
func (s *schedule) add(c Change) { s.changes = append(s.changes, c) }

// pop removes the next change.
func (s *schedule) pop() Change {
	c := s.changes[0]
	s.changes = s.changes[1:]
	return c
}

// share notes that there was a change of a share.
func (s *schedule) share(numbered bool) { s.numbered = numbered }

// nextChange returns when the next change takes effect.
func (s *schedule) nextChange() int64 {
	if len(s.changes) == 0 {
		return never
	}
	return s.changes[0].At
}

// warmUp returns whether the current stage is a warm-up stage.
func (s *schedule) warmUp() bool { return s.Rate() != nil && s.Rate().WarmUp }

// startsChains returns whether each slot starts a chain instance, and later steps are due when they are ready. It is false
// while the load is suspended, so that ready steps wait.
func (s *schedule) startsChains() bool {
	r := s.Rate()
	return r != nil && r.ChainsPerSecond && !s.Suspended()
}

// endedAt returns when the load ended, zero: not yet.
func (s *schedule) endedAt() int64 {
	if !s.Over() {
		return 0
	}
	return s.LoadEnd()
}

// span returns when a stage began and ended, as offsets from the start.
func (s *schedule) span(stage int, now int64) pace.Span {
	out := s.Span(stage, now)
	if out.Begun {
		out.From -= s.startAt
	}
	if out.Ended {
		out.To -= s.startAt
	}
	return out
}

// maxResidues bounds Slots.Of of a worker: there are at most as many shards, and as many workers of each.
const maxResidues = shard.MaxShards * shard.MaxShards

// number returns the number from which the values are drawn that occur once in the test, for slot n of the current
// stage. A slot has one owner. It has perSlot numbers, because several values may be drawn for it.
//
// Before the first change of a share, a worker draws the k-th number of its residues. After k slots of a stage of n slots,
// this is less than n, rounded up to Of. All numbers after the change are therefore higher by maxResidues for each stage,
// and once more for what setup draws.
func (s *schedule) number(n, perSlot int64, stages int) int64 {
	s.numberOfSlot = int64(stages+1)*maxResidues + perSlot*(s.Earlier()+n)
	return s.numberOfSlot
}

// drawn returns how many values any worker can have drawn of a variable before an instant, at most.
func (s *schedule) drawn(at, perSlot int64) int64 {
	if n := s.Passed(at); n < math.MaxInt64/perSlot {
		return n * perSlot
	}
	return math.MaxInt64
}
