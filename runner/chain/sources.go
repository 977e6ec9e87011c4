package chain

import (
	"math/rand/v2"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/shard"
	"github.com/h2surge/h2surge/runner/location"
)

// Sources are one worker's part of everything that fills holes: the variables, the values that setup
// has captured, the authorizations. They belong to one goroutine.
type Sources struct {
	program   *Program
	variables []source
	globals   [][]byte
	// references are what globals resolve to that are absolute URIs.
	references []reference
	// authorizations are by target; empty: none.
	authorizations [][]byte
	// elsewhere: see Elsewhere.
	elsewhere bool
	// thinking draws pauses.
	thinking *rand.Rand
	// text and key are what functions work in, and value and want what is compared.
	text, key, value, want []byte
}

// NewSources makes the sources of a worker. share is the worker's own part, and worker its number
// within the shard: with the plan's seed they decide all values. A variable of which the share has
// nothing is taken whole.
func NewSources(g *Program, share *rv.Share, worker int) *Sources {
	s := &Sources{
		program:        g,
		globals:        make([][]byte, len(g.Globals)),
		references:     make([]reference, len(g.Globals)),
		authorizations: make([][]byte, len(g.Targets)),
		thinking:       newRand(g.Seed, share, worker),
	}
	for i, v := range g.variables {
		s.variables = append(s.variables, newSource(v, share, i, worker))
	}
	return s
}

// newRand is a generator that no other worker has.
func newRand(seed uint64, share *rv.Share, worker int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, seedOf(uint64(share.Shard), uint64(worker))))
}

// SetGlobals sets what setup has captured: a value for each of Plan.Globals. Before, they are empty.
func (s *Sources) SetGlobals(values []string) {
	for i := range s.globals {
		if i < len(values) {
			s.globals[i] = []byte(values[i])
			s.resolveGlobal(i)
		}
	}
}

// resolveGlobal takes a value apart that paths begin with, if it is an absolute URI.
func (s *Sources) resolveGlobal(i int) {
	s.references[i] = reference{}
	if value := s.globals[i]; s.program.globalURIs[i] {
		if _, found, err := location.AppendResolved(nil, nil, nil, nil, value); err == nil {
			s.references[i].set(pathless(value, found))
		}
	}
}

// SetAuthorization sets the value of the Authorization field of requests to a target; an empty one
// leaves the field out. value is copied.
func (s *Sources) SetAuthorization(target int, value []byte) {
	s.authorizations[target] = append([]byte(nil), value...)
}

// Elsewhere says whether the next request that is rendered goes to an authority that a peer has named and
// the plan has not. Such a one is not given the Authorization of the target.
func (s *Sources) Elsewhere(yes bool) { s.elsewhere = yes }

// authorization is the value of the field for a target; empty: there is none.
func (s *Sources) authorization(target int) []byte {
	if s.elsewhere {
		return nil
	}
	return s.authorizations[target]
}

// Deal gives the worker another part of all variables. What it has drawn stays drawn. Drawn is how many values
// any worker has drawn so far, at most; fresh: this one has drawn none.
//
// Of a sequence, the worker goes on where it is if that is still its own, else behind as many values as may
// have been drawn. So values are used again only when a worker has come through all of its own, which with
// few values is soon: near the instant of a deal, a value may then be in use by two.
//
// Numbers that occur once in the test (UUIDs, counters) are from now on those that Slot says, for a worker
// cannot know how many the one before it has drawn. It returns whether there are such variables.
func (s *Sources) Deal(share *rv.Share, drawn int64, fresh bool) (numbered bool) {
	for i := range s.variables {
		v := &s.variables[i]
		switch v.v.drawing {
		case drawSequential, drawShuffled:
			v.cursors[phaseLoad].deal(v.v.spans(share, i), drawn, fresh)
		case drawSlot:
			v.dealt, numbered = true, true
		case drawAny, drawRandom, drawConstant, drawTime:
		}
	}
	return numbered
}

// Slot says, after a Deal, what the next number is that occurs once in the test. Further ones that are drawn
// before the next Slot follow it.
func (s *Sources) Slot(number int64) {
	for i := range s.variables {
		s.variables[i].number = number
	}
}

// Ended says that a variable that the chain draws, and that stops at its end, is used up: no further
// instance of the chain is to begin. A chain that draws such a variable for each step may use it up
// on its way; it then begins with the first values again.
func (s *Sources) Ended(chain int) bool {
	for _, v := range s.program.Chains[chain].stops {
		if s.variables[v].cursors[phaseLoad].wrapped {
			return true
		}
	}
	return false
}

// phase of a chain, as an index.
type phase uint8

const (
	phaseLoad phase = iota
	phaseSetup
	phaseTeardown
	phases
)

func phaseOf(p rv.Phase) phase {
	switch p {
	case rv.PhaseSetup:
		return phaseSetup
	case rv.PhaseTeardown:
		return phaseTeardown
	}
	return phaseLoad
}

// source is a worker's part of a variable.
type source struct {
	v *variable
	// cursors over the values: that of the load over the worker's own part, those of setup and teardown,
	// which run once for the whole test, over all values.
	cursors [phases]cursor
	rand    *rand.Rand
	slots   rv.Slots
	taken   int64
	// dealt: the next number is number, and not that of the next slot of slots.
	dealt  bool
	number int64
	// settled: a variable of scope worker has its value.
	settled bool
	value   int64
}

func newSource(v *variable, share *rv.Share, index, worker int) source {
	s := source{v: v, settled: v.fixed, value: v.value}
	switch v.drawing {
	case drawSequential, drawShuffled:
		all := newCursor([]rv.Span{{To: v.size}})
		s.cursors = [phases]cursor{newCursor(v.spans(share, index)), all, all}
		if s.cursors[phaseLoad].empty() {
			s.cursors[phaseLoad] = all
		}
	case drawAny, drawRandom:
		s.rand = newRand(v.seed, share, worker)
	case drawSlot:
		s.slots = share.Slots
		if !shard.Valid(s.slots) {
			s.slots = rv.Slots{Of: 1, Residues: []int64{0}}
		}
	case drawConstant, drawTime:
	}
	return s
}

func (v *variable) spans(share *rv.Share, index int) []rv.Span {
	switch {
	case index >= len(share.Variables):
		return nil
	case v.inParts:
		return rowsOf(share.Variables[index], v.size)
	}
	return share.Variables[index]
}

// next draws a value for a chain of a phase. wall is the time in nanoseconds since 1970.
func (s *source) next(p phase, wall int64) int64 {
	switch s.v.drawing {
	case drawSequential:
		return s.cursors[p].pull()
	case drawShuffled:
		return s.v.shuffle.at(s.cursors[p].pull())
	case drawAny:
		return s.rand.Int64N(s.v.size)
	case drawRandom:
		return s.v.random.draw(s.rand)
	case drawSlot:
		if s.dealt {
			s.number++
			return s.number - 1
		}
		s.taken++
		return shard.Nth(s.slots, s.taken-1)
	case drawTime:
		return wall
	case drawConstant:
	}
	return 0
}

// settle draws the value of a variable of scope worker, once.
func (s *source) settle(wall int64) {
	if !s.settled {
		s.value, s.settled = s.next(phaseLoad, wall), true
	}
}
