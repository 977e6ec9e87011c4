package slots

import (
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/pace"
)

const never = pace.Never

// Slots say which slots the worker has, when they are due, which changes come, and whether the lease lets the worker
// take them.
type Slots struct {
	Schedules
	// startAt is the start instant, never: not known yet. startedAt is when the worker first saw that it had passed, zero:
	// not yet. earliestPickUp is when the worker may take slots again.
	startAt, startedAt, earliestPickUp int64
	// changes wait for their instants, in this order.
	changes []Change
	// delays are the delays of chains that have not passed, the shortest first.
	delays []int64
	lease  leaseState
}

// Sink takes the slots of a worker.
type Sink interface {
	// Slot takes slot n of the current stage of a schedule.
	Slot(s *Schedule, n, due int64)
	// Dropped takes the slots of a stage that were due in a pause.
	Dropped(stage int, n int64)
}

// New returns the schedules of a worker with these slots, each of which can draw perSlot values of a variable.
func New(p *chain.Program, rates []rv.Rate, slots rv.Slots, perSlot int64) Slots {
	s := Slots{Schedules: newSchedules(p, rates, slots, perSlot), startAt: never}
	for i := range p.Chains {
		if delay := p.Chains[i].Delay; delay > 0 {
			s.delays = append(s.delays, delay)
		}
	}
	slices.Sort(s.delays)
	return s
}

// Start sets the start instant, and adds changes that the worker has missed.
func (s *Slots) Start(at int64, changes []Change) {
	s.startAt = at
	for i := range s.all {
		s.all[i].Start(at)
	}
	s.changes = append(s.changes, changes...)
}

// StartAt returns the start instant, never: not known yet.
func (s *Slots) StartAt() int64 { return s.startAt }

// StartedAt returns when the worker first saw that the start instant had passed, zero: not yet.
func (s *Slots) StartedAt() int64 { return s.startedAt }

// Next returns when the worker must take slots, enter the next stage of a schedule or apply a change, or when the delay
// of a chain ends that a closed loop waits for.
func (s *Slots) Next(now int64) int64 {
	return min(s.nextPickUp(), s.nextChange(), s.nextDelayed(now))
}

// Due returns whether the worker must take slots, or enter the next stage of a schedule.
func (s *Slots) Due(now int64) bool { return now >= s.nextPickUp() }

func (s *Slots) nextPickUp() int64 {
	if s.lease.paused {
		if s.Over() {
			return never
		}
		return s.loadEnd()
	}
	if next := s.next(); next != never {
		return max(next, s.earliestPickUp)
	}
	return never
}

// Take takes all slots that are due before an instant, one schedule after another. In a pause it drops them.
func (s *Slots) Take(until, now int64, to Sink) {
	for i := range s.all {
		s.takeFrom(&s.all[i], until, now, to)
	}
}

// takeFrom takes the slots of a schedule, stage after stage.
func (s *Slots) takeFrom(own *Schedule, until, now int64, to Sink) {
	for {
		if s.lease.paused {
			s.drop(own, until, to)
		}
		for own.Due() < until {
			due := own.Due()
			to.Slot(own, own.Take(), due) // which may end the load
		}
		switch {
		case own.Advance(until):
			if s.startedAt == 0 {
				s.startedAt = now
			}
		case own.Exhausted():
			own.EndStage(now)
		default:
			return
		}
	}
}

// drop drops the slots of the current stage of a schedule that are due before an instant.
func (s *Slots) drop(own *Schedule, until int64, to Sink) {
	stage := own.PlanStage()
	if n := own.Drop(until); n > 0 {
		s.lease.dropped(n)
		to.Dropped(stage, n)
	}
}

// EarliestPickUp returns when the worker may take slots again.
func (s *Slots) EarliestPickUp() int64 { return s.earliestPickUp }

// PickUpAgain sets when the worker may take slots again.
func (s *Slots) PickUpAgain(at int64) { s.earliestPickUp = at }

// leave ends all schedules at an instant that may be in the past, but not before the start.
func (s *Slots) leave(at int64) {
	if at <= s.startAt {
		return
	}
	for i := range s.all {
		s.all[i].Leave(at)
	}
}

// nextDelayed returns when the next delay of a chain ends, if a closed loop waits for it. No slot becomes due then.
func (s *Slots) nextDelayed(now int64) int64 {
	if s.startAt == never || !s.ClosedLoop() {
		return never
	}
	for len(s.delays) > 0 && s.startAt+s.delays[0] <= now {
		s.delays = s.delays[1:]
	}
	if len(s.delays) == 0 {
		return never
	}
	return s.startAt + s.delays[0]
}

// ReadySince returns from when on a ready step of a schedule could be sent: the stage has begun, and the load has
// continued after a pause.
func (s *Slots) ReadySince(own *Schedule) int64 { return max(own.Since(), s.lease.resumedAt) }

// Deadline returns when the load has lasted for a time, to which suspensions do not count. It is never if this is not
// known.
func (s *Slots) Deadline(after time.Duration) int64 {
	if after == 0 || s.startAt == never || s.Suspended() {
		return never
	}
	longest := int64(0)
	for i := range s.all {
		longest = max(longest, s.all[i].Paused())
	}
	return s.startAt + int64(after) + longest
}

// EndedAt returns when the load ended, zero: not yet.
func (s *Slots) EndedAt() int64 {
	if !s.Over() {
		return 0
	}
	return s.loadEnd()
}

// GracefulUntil returns when a time after the load has passed. It is never before the end of the load is known.
func (s *Slots) GracefulUntil(after time.Duration) int64 {
	if !s.Over() {
		return never
	}
	return s.loadEnd() + int64(after)
}

// Span returns when a stage began and ended, as offsets from the start.
func (s *Slots) Span(stage int, now int64) pace.Span {
	own := s.OfStage(stage)
	out := own.Span(stage-own.first, now)
	if out.Begun {
		out.From -= s.startAt
	}
	if out.Ended {
		out.To -= s.startAt
	}
	return out
}
