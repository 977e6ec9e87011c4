package slots

import (
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/pace"
)

// Schedule is the schedule of the mix, or of a chain with stages of its own.
type Schedule struct {
	pace.Schedule
	// index is the place among the schedules.
	index int
	// first is the stage of the plan that is stage 0 of the Schedule. If the stages begin later than the test, stage 0 is
	// a pause, and first is the stage of the plan before them.
	first, end int
	// pause is the pause before the stages; empty: none.
	pause []rv.Rate
	// risesAt is when the limit of a closed loop rises next; see Most.
	risesAt int64
	// inUse is the number of requests without an outcome, if Schedules.counts is true.
	inUse int64
	// firstNumber is the number of the first slot. Each slot has numbersPerSlot numbers, with those of the same slot of
	// the other schedules.
	firstNumber, numbersPerSlot int64
}

// newSchedule returns the schedule of the stages from first to end, which all belong to the same chain or to the mix.
func newSchedule(p *chain.Program, rates []rv.Rate, first, end int, slots rv.Slots, index int) Schedule {
	own := rates[first].Chain
	s := Schedule{index: index, risesAt: never, first: first, end: end}
	if own > 0 && p.Chains[own-1].StartAfter > 0 {
		s.first--
		s.pause = []rv.Rate{{Duration: time.Duration(p.Chains[own-1].StartAfter)}}
	}
	s.Schedule = pace.New(s.ratesOf(rates), slots)
	return s
}

// ratesOf returns the schedule's own rates of all rates of the plan.
func (s *Schedule) ratesOf(rates []rv.Rate) []rv.Rate {
	return append(slices.Clone(s.pause), rates[s.first+len(s.pause):s.end]...)
}

// count adds to the number of requests that have no outcome.
func (s *Schedule) count(n int64) { s.inUse += n }

// PlanStage returns the current stage as an index of the plan. It has a meaning only while a stage is active.
func (s *Schedule) PlanStage() int { return s.first + s.Stage() }

// FillsStreams returns whether each free stream gets a request at once, in a closed loop.
func (s *Schedule) FillsStreams() bool { return s.Rate().Count == 0 }

// Most returns how many requests of the closed loop may be in flight.
func (s *Schedule) Most(now int64) (most int64) {
	most, s.risesAt = s.Concurrency(now)
	return most
}

// rises returns when the limit of the closed loop rises next.
func (s *Schedule) rises() int64 {
	if !s.ClosedLoop() || s.FillsStreams() {
		return never
	}
	return s.risesAt
}

// Index returns the place of the schedule among those of the worker.
func (s *Schedule) Index() int { return s.index }

// StartsChains returns whether each slot starts a chain instance, and later steps are due when they are ready. It is
// false while the load is suspended, so that ready steps wait.
func (s *Schedule) StartsChains() bool {
	r := s.Rate()
	return r != nil && r.ChainsPerSecond && !s.Suspended()
}

// InWarmUp returns whether the current stage is a warm-up stage.
func (s *Schedule) InWarmUp() bool { return s.Rate() != nil && s.Rate().WarmUp }
