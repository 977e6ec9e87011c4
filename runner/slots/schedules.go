package slots

import (
	"math"
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/pace"
)

// Schedules are those of a worker, which run at the same time: that of the mix, if the test has one, and that of each
// chain with stages of its own.
type Schedules struct {
	all []Schedule
	// ofStage has the index of the schedule of each stage of the plan.
	ofStage []int32
	// chains has, for each schedule, which chains it has: those with this value of Chain.Stages.
	chains []int
	// counts is true if schedules count their requests: there are several, and a closed loop among them.
	counts bool
	// perSlot is how many values of a variable one slot can draw, at most.
	perSlot int64
}

func newSchedules(p *chain.Program, rates []rv.Rate, slots rv.Slots, perSlot int64) Schedules {
	s := Schedules{ofStage: make([]int32, len(rates)), perSlot: perSlot}
	for first := 0; first < len(rates); {
		end, own := first, rates[first].Chain
		for ; end < len(rates) && rates[end].Chain == own; end++ {
			s.ofStage[end] = int32(len(s.all))
		}
		s.chains = append(s.chains, own)
		s.all = append(s.all, newSchedule(p, rates, first, end, slots, len(s.all)))
		first = end
	}
	s.counts = len(s.all) > 1 && slices.ContainsFunc(rates, func(r rv.Rate) bool { return r.ClosedLoop })
	s.number(rates)
	return s
}

// All returns all schedules.
func (s *Schedules) All() []Schedule { return s.all }

// Chains returns, for each schedule, which chains it has: those with this value of Chain.Stages.
func (s *Schedules) Chains() []int { return s.chains }

// OfStage returns the schedule of a stage.
func (s *Schedules) OfStage(stage int) *Schedule { return &s.all[s.ofStage[stage]] }

// Count adds to the number of requests of the schedule of a stage that have no outcome.
func (s *Schedules) Count(stage int16, n int64) {
	if s.counts && stage >= 0 {
		s.OfStage(int(stage)).count(n)
	}
}

// InUse returns how many requests of a schedule have no outcome, of all that the worker has.
func (s *Schedules) InUse(own *Schedule, all int) int64 {
	if s.counts {
		return own.inUse
	}
	return int64(all)
}

// next returns when a slot is due, a stage ends or the limit of a closed loop rises.
func (s *Schedules) next() int64 {
	next := int64(never)
	for i := range s.all {
		next = min(next, s.all[i].Due(), s.all[i].StageEnd(), s.all[i].rises())
	}
	return next
}

// change changes all schedules.
func (s *Schedules) change(c *Change) {
	for i := range s.all {
		own := &s.all[i]
		next := pace.Change{At: c.At, Rates: own.ratesOf(c.Rates), Suspended: c.Suspended}
		if c.Share != nil {
			next.Slots = &c.Share.Slots
		}
		own.Change(next)
	}
}

// endExhausted ends the stages of which the worker has sent all requests.
func (s *Schedules) endExhausted(now int64) {
	for i := range s.all {
		for own := &s.all[i]; own.Exhausted(); {
			own.EndStage(now)
		}
	}
}

// Halt ends all schedules at an instant.
func (s *Schedules) Halt(at int64) {
	for i := range s.all {
		s.all[i].Halt(at)
	}
}

// Over returns whether the load is over: all schedules have ended.
func (s *Schedules) Over() bool { return !s.any(func(own *Schedule) bool { return !own.Over() }) }

// loadEnd returns when the load ends, or has ended. It is never if this is not known.
func (s *Schedules) loadEnd() (last int64) {
	last = math.MinInt64
	for i := range s.all {
		last = max(last, s.all[i].LoadEnd())
	}
	return last
}

// any returns whether f is true for a schedule.
func (s *Schedules) any(f func(*Schedule) bool) bool {
	for i := range s.all {
		if f(&s.all[i]) {
			return true
		}
	}
	return false
}

// FillsStreams returns whether a schedule is in a closed loop without a limit.
func (s *Schedules) FillsStreams() bool {
	return s.any(func(own *Schedule) bool { return own.ClosedLoop() && own.FillsStreams() })
}

// ClosedLoop returns whether a schedule is in a closed loop.
func (s *Schedules) ClosedLoop() bool {
	return s.any(func(own *Schedule) bool { return own.ClosedLoop() })
}

// MayStall returns whether a stage ends after a number of requests only.
func (s *Schedules) MayStall() bool {
	return s.any(func(own *Schedule) bool { return own.ClosedLoop() && own.Rate().Duration == 0 })
}

// Suspended returns whether no slot is due until the next change.
func (s *Schedules) Suspended() bool {
	return s.any(func(own *Schedule) bool { return own.Suspended() })
}

// Begun returns whether the first stage has begun.
func (s *Schedules) Begun() bool { return s.all[0].Stage() >= 0 }

// Changed returns whether there was a change after the start.
func (s *Schedules) Changed() bool { return s.all[0].Changed() }
