package loop

import (
	"math"
	"slices"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/pace"
)

const never = pace.Never

// schedules say which slots the worker has, when they are due, and which changes come. The schedules run at the same time:
// that of the mix, if the test has one, and that of each chain with stages of its own.
type schedules struct {
	all []schedule
	// ofStage and ofChain are indexes into all, by stage of the plan and by chain.
	ofStage, ofChain []int32
	// counts is true if schedules count their requests: there are several, and a closed loop among them.
	counts bool
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

// schedule is the schedule of the mix, or of a chain with stages of its own.
type schedule struct {
	pace.Schedule
	// index is the place among the schedules.
	index int64
	// first is the stage of the plan that is stage 0 of the Schedule. If the stages begin later than the test, stage 0 is a
	// pause, and first is the stage of the plan before them.
	first, end int
	// pause is the pause before the stages; empty: none.
	pause []rv.Rate
	// roundRobin chooses the chain of the next instance.
	roundRobin *chain.WeightedRoundRobin
	// risesAt is when the limit of a closed loop rises next, never in other stages.
	risesAt int64
	// inUse is the number of requests without an outcome, if schedules.counts is true.
	inUse int64
}

func newSchedules(p *chain.Program, rates []rv.Rate, slots rv.Slots) schedules {
	s := schedules{startAt: never, ofStage: make([]int32, len(rates)), ofChain: make([]int32, len(p.Chains))}
	for first := 0; first < len(rates); {
		end, own := first, rates[first].Chain
		for ; end < len(rates) && rates[end].Chain == own; end++ {
			s.ofStage[end] = int32(len(s.all))
		}
		s.all = append(s.all, newSchedule(p, rates, first, end, slots))
		s.all[len(s.all)-1].index = int64(len(s.all) - 1)
		if own > 0 {
			s.ofChain[own-1] = int32(len(s.all) - 1)
		}
		first = end
	}
	s.counts = len(s.all) > 1 && slices.ContainsFunc(rates, func(r rv.Rate) bool { return r.ClosedLoop })
	return s
}

// newSchedule returns the schedule of the stages from first to end, which all belong to the same chain or to the mix.
func newSchedule(p *chain.Program, rates []rv.Rate, first, end int, slots rv.Slots) schedule {
	own := rates[first].Chain
	s := schedule{risesAt: never, first: first, end: end}
	s.roundRobin = chain.NewWeightedRoundRobin(p, func(c *chain.Chain) bool { return c.Stages == own })
	if own > 0 && p.Chains[own-1].StartAfter > 0 {
		s.first--
		s.pause = []rv.Rate{{Duration: time.Duration(p.Chains[own-1].StartAfter)}}
	}
	s.Schedule = pace.New(s.ratesOf(rates), slots)
	return s
}

// ratesOf returns the schedule's own rates of all rates of the plan.
func (s *schedule) ratesOf(rates []rv.Rate) []rv.Rate {
	return append(slices.Clone(s.pause), rates[s.first+len(s.pause):s.end]...)
}

// start sets the start instant, and adds changes that the worker has missed.
func (s *schedules) start(at int64, changes []Change) {
	s.startAt = at
	for i := range s.all {
		s.all[i].Start(at)
	}
	s.changes = append(s.changes, changes...)
}

// began notes that the start instant has passed.
func (s *schedules) began(now int64) {
	if s.startedAt == 0 {
		s.startedAt = now
	}
}

// pickUpAgain sets when the worker may take slots again.
func (s *schedules) pickUpAgain(at int64) { s.earliestPickUp = at }

// add adds a change.
func (s *schedules) add(c Change) { s.changes = append(s.changes, c) }

// pop removes the next change.
func (s *schedules) pop() Change {
	c := s.changes[0]
	s.changes = s.changes[1:]
	return c
}

// nextChange returns when the next change takes effect.
func (s *schedules) nextChange() int64 {
	if len(s.changes) == 0 {
		return never
	}
	return s.changes[0].At
}

// change changes all schedules.
func (s *schedules) change(c *Change) {
	for i := range s.all {
		own := &s.all[i]
		next := pace.Change{At: c.At, Rates: own.ratesOf(c.Rates), Suspended: c.Suspended}
		if c.Share != nil {
			next.Slots = &c.Share.Slots
		}
		own.Change(next)
	}
}

// share notes that there was a change of a share.
func (s *schedules) share(numbered bool) { s.numbered = numbered }

// halt ends all schedules at an instant, and leave ends them at an instant that may be in the past.
func (s *schedules) halt(at int64) {
	for i := range s.all {
		s.all[i].Halt(at)
	}
}

func (s *schedules) leave(at int64) {
	for i := range s.all {
		s.all[i].Leave(at)
	}
}

// endExhausted ends the stages of which the worker has sent all requests.
func (s *schedules) endExhausted(now int64) {
	for i := range s.all {
		for own := &s.all[i]; own.Exhausted(); {
			own.EndStage(now)
		}
	}
}

// Over returns whether the load is over: all schedules have ended.
func (s *schedules) Over() bool {
	for i := range s.all {
		if !s.all[i].Over() {
			return false
		}
	}
	return true
}

// count adds to the number of requests of the schedule of a stage that have no outcome.
func (s *schedules) count(stage int16, n int64) {
	if s.counts && stage >= 0 {
		s.ofSlot(int(stage)).inUse += n
	}
}

// FillsStreams returns whether a schedule is in a closed loop without a limit.
func (s *schedules) FillsStreams() bool {
	for i := range s.all {
		if own := &s.all[i]; own.ClosedLoop() && own.fillsStreams() {
			return true
		}
	}
	return false
}

// ClosedLoop returns whether a schedule is in a closed loop.
func (s *schedules) ClosedLoop() bool {
	for i := range s.all {
		if s.all[i].ClosedLoop() {
			return true
		}
	}
	return false
}

// begun returns whether the first stage has begun.
func (s *schedules) begun() bool { return s.all[0].Stage() >= 0 }

// suspended returns whether no slot is due until the next change.
func (s *schedules) suspended() bool {
	for i := range s.all {
		if s.all[i].Suspended() {
			return true
		}
	}
	return false
}

// paused returns for how long the load was suspended.
func (s *schedules) paused() (longest int64) {
	for i := range s.all {
		longest = max(longest, s.all[i].Paused())
	}
	return longest
}

// loadEnd returns when the load ends, or has ended. It is never if this is not known.
func (s *schedules) loadEnd() (last int64) {
	last = math.MinInt64
	for i := range s.all {
		last = max(last, s.all[i].LoadEnd())
	}
	return last
}

// endedAt returns when the load ended, zero: not yet.
func (s *schedules) endedAt() int64 {
	if !s.Over() {
		return 0
	}
	return s.loadEnd()
}

// of returns the schedule of a chain, and ofSlot that of a stage.
func (s *schedules) of(chain int) *schedule     { return &s.all[s.ofChain[chain]] }
func (s *schedules) ofSlot(stage int) *schedule { return &s.all[s.ofStage[stage]] }

// span returns when a stage began and ended, as offsets from the start.
func (s *schedules) span(stage int, now int64) pace.Span {
	own := s.ofSlot(stage)
	out := own.Span(stage-own.first, now)
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

// afterShare is the first number that follows from a slot in a test with several schedules. No worker draws so many numbers
// before the first change of a share. JSON can represent larger numbers exactly (RFC 8259 6).
const afterShare = 1 << 50

// number returns the number from which the values are drawn that occur once in the test, for slot n of the current
// stage of a schedule. A slot has one owner. It has perSlot numbers, because several values may be drawn for it.
//
// Before the first change of a share, a worker draws the k-th number of its residues. After k slots of a stage of n slots,
// this is less than n, rounded up to Of. All numbers after the change are therefore higher by maxResidues for each stage,
// and once more for what setup draws. Of several schedules, the slots have numbers in turn, from afterShare on.
func (s *schedules) number(own *schedule, n, perSlot int64) int64 {
	base := int64(len(s.ofStage)+1) * maxResidues
	if len(s.all) > 1 {
		base = afterShare
	}
	s.numberOfSlot = base + perSlot*(int64(len(s.all))*(own.Earlier()+n)+own.index)
	return s.numberOfSlot
}

// numberAfterAll returns a number that is higher than those of all slots, when the load is over.
func (s *schedules) numberAfterAll(perSlot int64) (highest int64) {
	for i := range s.all {
		highest = max(highest, s.number(&s.all[i], 0, perSlot))
	}
	return highest
}

// drawn returns how many values any worker can have drawn of a variable before an instant, at most.
func (s *schedules) drawn(at, perSlot int64) (n int64) {
	for i := range s.all {
		n += s.all[i].Passed(at)
	}
	if n < math.MaxInt64/perSlot {
		return n * perSlot
	}
	return math.MaxInt64
}

// stage returns the current stage as an index of the plan. It has a meaning only while a stage is active.
func (s *schedule) stage() int { return s.first + s.Stage() }

// fillsStreams returns whether each free stream gets a request at once, in a closed loop.
func (s *schedule) fillsStreams() bool { return s.Rate().Count == 0 }

// riseAt sets when the limit of the closed loop rises next, and rises returns it.
func (s *schedule) riseAt(at int64) { s.risesAt = at }

func (s *schedule) rises() int64 {
	if !s.ClosedLoop() || s.fillsStreams() {
		return never
	}
	return s.risesAt
}

// startsChains returns whether each slot starts a chain instance, and later steps are due when they are ready. It is false
// while the load is suspended, so that ready steps wait.
func (s *schedule) startsChains() bool {
	r := s.Rate()
	return r != nil && r.ChainsPerSecond && !s.Suspended()
}

// inWarmUp returns whether the current stage is a warm-up stage.
func (s *schedule) inWarmUp() bool { return s.Rate() != nil && s.Rate().WarmUp }
