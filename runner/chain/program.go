package chain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Program is a plan in the form workers execute.
type Program struct {
	Chains []Chain
	// Steps of all chains in the plan's order; a step's number in results is its index here.
	Steps     []Step
	Variables []Sequence
	Targets   []rv.Target
	// Timeouts are the distinct timeouts of all steps, ascending, in nanoseconds. Requests of
	// equal timeout expire in the order in which they were sent.
	Timeouts []int64
}

// Chain is a sequence of steps.
type Chain struct {
	Target int
	Weight int
	// First and Len are the chain's steps in Program.Steps.
	First, Len int
	// Variables the chain uses, as indices into Program.Variables. An instance draws one value
	// of each when it begins.
	Variables []int
	// Captures is the number of values its steps may capture.
	Captures int
}

// Step is one request and what is expected of its response.
type Step struct {
	Index  int
	Chain  int
	Target int
	// Order is the step's place among all steps to the same target; see Encoder.
	Order int
	Last  bool
	// Head: the method is HEAD, and responses have no content.
	Head bool
	// TimeoutClass is an index into Program.Timeouts.
	TimeoutClass int
	// WantHeaders: a capture reads response header fields.
	WantHeaders bool
	Captures    []Capture

	fields []fieldSource
	body   text
	accept statusSet
}

// Capture copies a response header field into a slot of the instance.
type Capture struct {
	Slot   int
	Header string
	// Location values that are absolute URLs are cut to path and query.
	Location bool
}

// Accepts says whether a response with this status is a success.
func (s *Step) Accepts(status int) bool { return s.accept.has(status) }

// BodyLen is the length of the body that AppendBody makes when the body has no holes, or -1.
func (s *Step) BodyLen() int {
	if s.body.constant() {
		return len(s.body.literal())
	}
	return -1
}

// Compile checks what a runner relies on and builds the program. A plan made by this project's
// compiler always passes; one from elsewhere is told its first fault.
func Compile(p *rv.Plan) (*Program, error) {
	if len(p.Targets) == 0 || len(p.Chains) == 0 || len(p.Rates) == 0 {
		return nil, fmt.Errorf("the plan needs targets, chains and rates")
	}
	g := &Program{Targets: p.Targets}
	for i := range p.Targets {
		if len(p.Targets[i].Endpoints) == 0 {
			return nil, fmt.Errorf("targets[%d].endpoints: empty", i)
		}
	}
	for i := range p.Variables {
		seq, err := newSequence(&p.Variables[i])
		if err != nil {
			return nil, fmt.Errorf("variables[%d]: %w", i, err)
		}
		g.Variables = append(g.Variables, seq)
	}
	g.Timeouts = timeouts(p)
	order := make([]int, len(p.Targets))
	for i := range p.Chains {
		if err := g.addChain(&p.Chains[i], order); err != nil {
			return nil, fmt.Errorf("chains[%d].%w", i, err)
		}
	}
	return g, nil
}

func timeouts(p *rv.Plan) []int64 {
	var all []int64
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			all = append(all, int64(p.Chains[i].Steps[j].Timeout))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (g *Program) addChain(c *rv.Chain, order []int) error {
	if c.Target < 0 || c.Target >= len(g.Targets) {
		return fmt.Errorf("target: there is no target %d", c.Target)
	}
	if c.Weight < 1 {
		return fmt.Errorf("weight: %d is below 1", c.Weight)
	}
	if len(c.Steps) == 0 {
		return fmt.Errorf("steps: empty")
	}
	out := Chain{Target: c.Target, Weight: c.Weight, First: len(g.Steps), Len: len(c.Steps), Captures: len(c.Captures)}
	b := textBuilder{variables: len(g.Variables), captures: len(c.Captures), used: &out.Variables}
	for i := range c.Steps {
		s, err := g.step(&c.Steps[i], &b)
		if err != nil {
			return fmt.Errorf("steps[%d].%w", i, err)
		}
		s.Index, s.Chain, s.Target = len(g.Steps), len(g.Chains), c.Target
		s.Order, s.Last = order[c.Target], i == len(c.Steps)-1
		order[c.Target]++
		g.Steps = append(g.Steps, s)
	}
	g.Chains = append(g.Chains, out)
	return nil
}

func (g *Program) step(in *rv.Step, b *textBuilder) (Step, error) {
	var s Step
	if in.Timeout <= 0 || in.Timeout > 24*time.Hour {
		return s, fmt.Errorf("timeout: %v is not between 0 and 24h", in.Timeout)
	}
	s.TimeoutClass, _ = slices.BinarySearch(g.Timeouts, int64(in.Timeout))
	var err error
	if s.body, err = b.build(in.Body); err != nil {
		return s, fmt.Errorf("body%w", err)
	}
	if s.fields, err = requestFields(in, b, s.body); err != nil {
		return s, err
	}
	if s.accept, err = newStatusSet(in.Expect.Status); err != nil {
		return s, fmt.Errorf("expect.status%w", err)
	}
	for i, c := range in.Capture {
		if c.Slot < 0 || c.Slot >= b.captures {
			return s, fmt.Errorf("capture[%d].slot: there is no slot %d", i, c.Slot)
		}
		name := strings.ToLower(c.Source.Name)
		s.Captures = append(s.Captures, Capture{Slot: c.Slot, Header: name, Location: name == "location"})
	}
	s.WantHeaders = len(s.Captures) > 0
	s.Head = in.Method == "HEAD" //nolint:usestdlibvars // net/http is not worth linking for a word
	return s, nil
}

// statusSet holds status codes 0 to 639.
type statusSet [10]uint64

// newStatusSet takes inclusive ranges; none at all means below 400.
func newStatusSet(ranges []rv.StatusRange) (statusSet, error) {
	var s statusSet
	if len(ranges) == 0 {
		ranges = []rv.StatusRange{{From: 100, To: 399}}
	}
	for i, r := range ranges {
		if r.From < 100 || r.To > 599 || r.From > r.To {
			return s, fmt.Errorf("[%d]: %d to %d is no range of status codes", i, r.From, r.To)
		}
		for c := r.From; c <= r.To; c++ {
			s[c/64] |= 1 << (c % 64)
		}
	}
	return s, nil
}

func (s *statusSet) has(code int) bool {
	return uint(code) < 640 && s[code/64]&(1<<(code%64)) != 0
}
