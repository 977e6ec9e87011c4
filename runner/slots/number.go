package slots

import (
	"math"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
)

// maxResidues bounds Slots.Of of a worker: there are at most as many shards, and as many workers of each.
const maxResidues = split.MaxShards * split.MaxShards

// afterShare is the first number that follows from a slot in a test with several schedules. No worker draws so many
// numbers before the first change of a share. JSON can represent larger numbers exactly (RFC 8259 6).
const afterShare = 1 << 50

// number gives each schedule its numbers for values that occur once in the test. A slot has one owner. It has perSlot
// numbers, because several values may be drawn for it.
//
// Before the first change of a share, a worker draws the k-th number of its residues. After k slots of a stage of n
// slots, this is less than n, rounded up to Of. All numbers after the change are therefore higher by maxResidues for
// each stage, and once more for what setup draws. Of several schedules, the slots have numbers in turn, from afterShare
// on.
//
// A closed loop has a slot for each nanosecond. If it is too long for perSlot numbers each, a slot of any stage of any
// schedule has as many as fit, and leaves half of all numbers to the other stages. For example, with one schedule and a
// closed loop of 24 hours these are 53,000. An instance that needs more draws numbers of the next slots, too.
func (s *Schedules) number(rates []rv.Rate) {
	base, several, perSlot := int64(len(s.ofStage)+1)*maxResidues, int64(len(s.all)), s.perSlot
	if several > 1 {
		base = afterShare
	}
	if slots := inClosedLoops(rates); slots > 0 {
		perSlot = min(perSlot, math.MaxInt64/2/several/slots)
	}
	for i := range s.all {
		s.all[i].firstNumber, s.all[i].numbersPerSlot = base+perSlot*int64(i), perSlot*several
	}
}

// inClosedLoops returns how many slots closed loops without a bound on requests have, at most.
func inClosedLoops(rates []rv.Rate) (slots int64) {
	for i := range rates {
		if rates[i].ClosedLoop && rates[i].Requests == 0 {
			slots += int64(rates[i].Duration)
		}
	}
	return slots
}

// Number returns the number from which the values are drawn that occur once in the test, for slot n of the current
// stage.
func (s *Schedule) Number(n int64) int64 { return s.firstNumber + s.numbersPerSlot*(s.Earlier()+n) }

// NumberAfterAll returns a number that is higher than those of all slots, when the load is over.
func (s *Schedules) NumberAfterAll() (highest int64) {
	for i := range s.all {
		highest = max(highest, s.all[i].Number(0))
	}
	return highest
}

// Drawn returns how many values any worker can have drawn of a variable before an instant, at most.
func (s *Schedules) Drawn(at int64) (n int64) {
	for i := range s.all {
		n += s.all[i].Passed(at)
	}
	if n < math.MaxInt64/s.perSlot {
		return n * s.perSlot
	}
	return math.MaxInt64
}
