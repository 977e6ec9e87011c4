package flow

import (
	"slices"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/cacheline"
	"github.com/h2surge/h2surge/runner/chain"
)

// chains choose the chain of the next instance.
type chains struct {
	program *chain.Program
	sources *chain.Sources
	// now is the time of the turn. startAt is the start instant.
	now, startAt int64
	// live is the number of instances of each chain that have not ended. maxInFlight bounds it; zero: there is no bound.
	live, maxInFlight []int
	// roundRobins choose the chain, by schedule.
	roundRobins []*chain.WeightedRoundRobin
	// mayBegin returns true if a chain may start an instance. It is nil if each chain always may. serves does so for one
	// target.
	mayBegin func(chain int) bool
	serves   []func(chain int) bool
}

// init sets the chains of a program. Each schedule chooses those with one value of Chain.Stages.
func (s *chains) init(p *chain.Program, src *chain.Sources, stages []int) {
	s.program, s.sources, s.startAt = p, src, never
	s.live, s.maxInFlight = cacheline.Make[int](len(p.Chains)), make([]int, len(p.Chains))
	for _, own := range stages {
		s.roundRobins = append(s.roundRobins, chain.NewWeightedRoundRobin(p,
			func(c *chain.Chain) bool { return c.Stages == own }))
	}
	for t := range p.Targets {
		s.serves = append(s.serves, func(
			c int) bool {
			return p.Chains[c].Target == t && (s.mayBegin == nil || s.mayBegin(c))
		})
	}
}

// setShare sets the bounds of the chains.
func (s *chains) setShare(share *rv.Share) {
	clear(s.maxInFlight)
	copy(s.maxInFlight, share.MaxInFlight)
	s.mayBegin = nil
	for i := range s.program.Chains {
		if c := &s.program.Chains[i]; c.Phase == rv.PhaseLoad && (c.Delay > 0 || s.maxInFlight[i] != 0 || c.Ends) {
			s.mayBegin = s.chainMayBegin
		}
	}
}

// chainMayBegin returns true if an instance of a chain may start now.
func (s *chains) chainMayBegin(c int) bool {
	return !s.full(c) && s.now >= s.startAt+s.program.Chains[c].Delay && !s.ended(c)
}

// full returns true if a chain has as many instances as it may have at a time.
func (s *chains) full(c int) bool { return s.maxInFlight[c] > 0 && s.live[c] >= s.maxInFlight[c] }

// ended returns true if a variable of a chain has no more values.
func (s *chains) ended(c int) bool { return s.program.Chains[c].Ends && s.sources.Ended(c) }

// choose returns the chain of the next instance, or -1.
func (s *chains) choose(schedule int) int { return s.roundRobins[schedule].Next(s.mayBegin) }

// chooseFor returns the chain of the next instance that begins with a request to a target, or -1.
func (s *chains) chooseFor(schedule int, target int32) int {
	if int(target) >= len(s.serves) {
		return -1 // no chain begins with a target that was followed
	}
	return s.roundRobins[schedule].Next(s.serves[target])
}

// CanBegin returns whether a chain of a schedule may start an instance that begins with a request to a target.
func (s *chains) CanBegin(schedule int, target int32) bool {
	return int(target) < len(s.serves) && slices.ContainsFunc(s.roundRobins[schedule].Chains(), s.serves[target])
}

// Exhausted returns true if no chain of a schedule can start an instance again, because each uses a variable that has
// no more values.
func (s *chains) Exhausted(schedule int) bool {
	return s.mayBegin != nil && !slices.ContainsFunc(s.roundRobins[schedule].Chains(),
		func(c int) bool { return !s.ended(c) })
}

// Live returns whether an instance of a chain of a schedule has not ended.
func (s *chains) Live(schedule int) bool {
	return slices.ContainsFunc(s.roundRobins[schedule].Chains(), func(c int) bool { return s.live[c] > 0 })
}

// Unfinished returns the number of instances of load chains that have not ended.
func (s *chains) Unfinished() (n int64) {
	for i := range s.program.Chains {
		if s.program.Chains[i].Phase == rv.PhaseLoad {
			n += int64(s.live[i])
		}
	}
	return n
}

// NoStart returns why no instance could start for a slot of a schedule.
func (s *chains) NoStart(schedule int) failure.Cause {
	for _, c := range s.roundRobins[schedule].Chains() {
		if s.full(c) {
			return failure.Cause{Kind: rv.CauseMaxInFlight, Detail: s.program.Chains[c].Name}
		}
	}
	return failure.Cause{Kind: rv.CauseNoChain}
}
