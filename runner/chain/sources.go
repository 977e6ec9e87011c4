package chain

import (
	"math/rand/v2"
	"net"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/runner/cacheline"
	"github.com/h2surge/h2surge/runner/grpc"
	"github.com/h2surge/h2surge/runner/location"
)

// Sources has the values of placeholders for one worker: its share of the variables, the captures of setup, and the
// credentials. It belongs to one goroutine.
type Sources struct {
	program   *Program
	variables []source
	globals   [][]byte
	// references are the parts of the globals that are absolute URIs.
	references []reference
	// credentials are by Credential; empty: none.
	credentials [][]byte
	// listeners are the URLs of the worker's listeners.
	listeners [][]byte
	// withhold: see Withhold.
	withhold bool
	// thinking draws pauses.
	thinking *rand.Rand
	// text and key are buffers of functions. value and want are buffers of comparisons.
	text, key, value, want []byte
	// uri is a buffer for the URI of a request.
	uri []byte
	// messages are those of a response of gRPC, in JSON. gzip is for compressed ones. unfit: a value of the last body does
	// not fit its field.
	messages []byte
	gzip     grpc.Gzip
	unfit    bool
	// usim is the USIM of the subscriber that needs it; nil: no instance has needed it.
	usim *usim
}

// NewSources returns the sources of a worker. share is the share of the worker, and worker its number in the shard. The
// seed of the plan, share and worker determine all values. If the share has no values of a variable, the worker uses
// all of them.
func NewSources(g *Program, share *rv.Share, worker int) *Sources {
	s := &Sources{
		program:     g,
		variables:   cacheline.Make[source](len(g.variables))[:0],
		globals:     make([][]byte, len(g.Globals)),
		references:  make([]reference, len(g.Globals)),
		credentials: make([][]byte, 2*len(g.Targets)),
		listeners:   make([][]byte, len(g.Listeners)*len(listenerParts)),
		thinking:    newRand(g.Seed, share, worker),
	}
	for i, v := range g.variables {
		s.variables = append(s.variables, newSource(v, share, i, worker))
	}
	return s
}

// newRand returns a generator with a seed that no other worker has.
func newRand(seed uint64, share *rv.Share, worker int) *rand.Rand {
	g := &struct {
		pcg rand.PCG
		rand.Rand
		_ [32]byte // a cache line in all
	}{}
	g.pcg.Seed(seed, seedOf(uint64(share.Shard), uint64(worker)))
	g.Rand = *rand.New(&g.pcg)
	return &g.Rand
}

// SetGlobals sets the captures of setup: a value for each of Plan.Globals. Until then they are empty.
func (s *Sources) SetGlobals(values []string) {
	for i := range s.globals {
		if i < len(values) {
			s.globals[i] = []byte(values[i])
			s.resolveGlobal(i)
		}
	}
}

// resolveGlobal splits the value of a global that paths begin with, if the value is an absolute URI.
func (s *Sources) resolveGlobal(i int) {
	s.references[i] = reference{}
	if value := s.globals[i]; s.program.globalURIs[i] {
		if _, found, err := location.AppendResolved(nil, nil, nil, nil, value); err == nil {
			s.references[i].set(pathless(value, found))
		}
	}
}

// listenerParts are what a text can have of a listener: its URL, its host and its port.
var listenerParts = []string{"", rv.ListenerHost, rv.ListenerPort}

// SetListener sets the URL of a listener of the worker, such as http://192.0.2.1:9090. An IPv6 address has brackets in
// the URL, and none as host.
func (s *Sources) SetListener(listener int, url string) {
	_, authority, _ := strings.Cut(url, "://")
	host, port, _ := net.SplitHostPort(authority) // a runner makes the URL
	s.SetListenerParts(listener, url, host, port)
}

// SetListenerParts sets the three texts of a listener.
func (s *Sources) SetListenerParts(listener int, url, host, port string) {
	for i, part := range []string{url, host, port} {
		s.listeners[listener*len(listenerParts)+i] = []byte(part)
	}
}

// SetShare replaces the share of the worker in all variables. drawn is the maximum number of values that any worker has
// drawn of a variable. fresh: this worker has drawn none.
//
// In a sequence, the worker continues at its position if its spans are the same. Otherwise it skips drawn values of its
// new spans. A value is therefore used again only after a worker has used all of its values. If there are few values,
// two workers can use the same value shortly after SetShare.
//
// From now on, Slot sets the numbers that occur once in the test (UUIDs, counters), because a worker does not know how
// many numbers the previous owner of its share has drawn. SetShare reports whether there are such variables.
func (s *Sources) SetShare(share *rv.Share, drawn int64, fresh bool) (numbered bool) {
	for i := range s.variables {
		v := &s.variables[i]
		switch v.v.drawing {
		case drawSequential, drawShuffled:
			v.cursors[phaseLoad].setSpans(v.v.spans(share, i), drawn, fresh)
		case drawSlot, drawTrace:
			v.numbered, numbered = true, true
		case drawAny, drawRandom, drawConstant, drawTime:
		}
	}
	return numbered
}

// Continue continues the random values and the numbers of a worker that has drawn some for setup. This one draws none
// of them again. Others can, if their shares changed, too. A variable of scope worker has the same value.
func (s *Sources) Continue(earlier *Sources) {
	for i := range s.variables {
		v, was := &s.variables[i], &earlier.variables[i]
		v.rand, v.salt, v.settled, v.value = was.rand, was.salt, was.settled, was.value
		if was.taken > 0 {
			v.taken = split.CountBelow(v.slots, split.Nth(was.slots, was.taken-1)+1)
		}
	}
}

// Slot sets, after SetShare, the next number that occurs once in the test. Numbers that are drawn before the next call
// follow it. Zero means that they are the next numbers of the share that the worker had before the first SetShare.
func (s *Sources) Slot(number int64) {
	for i := range s.variables {
		v := &s.variables[i]
		v.numbered, v.number = number > 0, number
	}
}

// Ended reports whether a variable of the chain that stops at its end is used up. Then no further instance of the chain
// may start. If a chain draws such a variable for each step, the variable can end inside an instance, which then
// continues with the first values.
func (s *Sources) Ended(chain int) bool {
	for _, v := range s.program.Chains[chain].stops {
		if s.variables[v].cursors[phaseLoad].wrapped {
			return true
		}
	}
	return false
}

// phase is the phase of a chain as an index.
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

// source is the share of a worker in a variable.
type source struct {
	v *variable
	// cursors over the values. Load uses the share of the worker. Setup and teardown run once for the whole test and use
	// all values.
	cursors [phases]cursor
	rand    *rand.Rand
	slots   rv.Slots
	taken   int64
	// numbered: the next number is number. Otherwise it is the next of slots.
	numbered bool
	number   int64
	// settled: the variable has scope worker, and its value was drawn.
	settled bool
	value   int64
	// salt makes the trace ids of two runs with the same seed different. It is derived from the time of the first draw.
	salt uint64
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
	case drawSlot, drawTrace:
		s.slots = share.Slots
		if !split.Valid(s.slots) {
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
	case drawTrace:
		if s.salt == 0 {
			s.salt = mix(uint64(wall)) | 1
		}
		return s.slot()
	case drawSlot:
		return s.slot()
	case drawTime:
		return wall
	case drawConstant:
	}
	return 0
}

// slot returns a number that occurs once in the test.
func (s *source) slot() int64 {
	if s.numbered {
		s.number++
		return s.number - 1
	}
	s.taken++
	return split.Nth(s.slots, s.taken-1)
}

// settle draws the value of a variable of scope worker, once.
func (s *source) settle(wall int64) {
	if !s.settled {
		s.value, s.settled = s.next(phaseLoad, wall), true
	}
}
