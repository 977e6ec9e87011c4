package compile

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	syntax "github.com/h2surge/h2surge/internal/placeholder"
)

// global is a name that a setup chain captures for all other chains.
type global struct {
	chain string
	// order of the chain among the chains of the spec, which is the order of setup chains.
	order int
	// makers are known once the chain is compiled.
	makers []*capture
}

// scope is what names mean at one step of a chain.
type scope struct {
	chain string
	phase v1alpha1.ChainPhase
	order int
	slots map[string]int // capture name to index of Chain.Captures
	// makers are the captures that a slot's value may stem from, of earlier steps only.
	makers map[string][]*capture
	// unsure names the earlier step that makes a capture, when it may be skipped or fail and no other
	// makes it for sure.
	unsure map[string]string
	// later names the first step that makes a capture, for messages.
	later map[string]string

	// bindings are the slots of the bindings that the chain follows, by target.
	bindings map[int]int

	step  string
	place rv.Place // of the step
	// guarded: empty captures are provided for, in conditions and by them.
	guarded bool
	// early: the step needs the text before its request, which draws the variables of scope Step.
	early bool
}

func newScope(chain *v1alpha1.Chain, order int) *scope {
	return &scope{
		chain: chain.Name, phase: chain.Phase, order: order, place: rv.Place{List: rv.PlaceChains, Index: order},
		slots: map[string]int{}, makers: map[string][]*capture{}, unsure: map[string]string{}, later: map[string]string{},
	}
}

// made remembers what a step captures. A step that may be skipped or fail leaves an earlier value.
func (s *scope) made(step *flatStep) {
	for _, m := range step.request.captures {
		_, unsure := s.unsure[m.name]
		known := len(s.makers[m.name]) > 0
		switch {
		case !step.mayLack():
			s.makers[m.name] = []*capture{m}
			delete(s.unsure, m.name)
		case !known || unsure:
			s.unsure[m.name] = step.name
			fallthrough
		default:
			s.makers[m.name] = append(s.makers[m.name], m)
		}
	}
}

// again: a step that is sent several times reads, from the second time on, what it captured itself.
func (s *scope) again(step *flatStep) {
	for _, m := range step.request.captures {
		if len(s.makers[m.name]) > 0 {
			s.makers[m.name] = append(slices.Clone(s.makers[m.name]), m)
		}
	}
}

// resolve replaces the names in a text by what they mean at this step.
func (c *compiler) resolve(s *scope, t text) (out rv.Text) {
	named := func(ref *syntax.Reference) (rv.Part, bool) { return c.named(s, t.path, ref) }
	out = slices.Grow(out, len(t.pieces))
	c.size.octets += partSize * len(t.pieces)
	for _, p := range t.pieces {
		if p.Ref == nil {
			out = append(out, rv.Part{Literal: p.Literal})
			continue
		}
		if part, ok := p.Ref.Part(named); ok {
			out = append(out, part)
		}
	}
	return out
}

// named is what a name means, without its functions. What is not defined anywhere was reported when
// the text was parsed.
func (c *compiler) named(s *scope, path *field.Path, ref *syntax.Reference) (part rv.Part, ok bool) {
	if ref.Listener != "" {
		i, ok := c.listenerIndex[ref.Listener]
		return rv.Part{Listener: i + 1, Column: ref.Column}, ok
	}
	name := ref.Name
	if i, isVariable := c.variableIndex[ref.Name]; isVariable {
		if name = c.answer(i, ref); name == "" {
			return rv.Part{Variable: i + 1, Column: ref.Column}, c.drawn(s, path, i)
		}
	}
	if !c.captured[name] {
		return part, false
	}
	if makers := s.makers[name]; len(makers) > 0 {
		markRead(makers)
		if maker, unsure := s.unsure[name]; unsure && !s.guarded {
			c.warn(path, "capture %q is empty in step %q of chain %q when step %q, which makes it, was skipped or has failed; "+
				"a condition (when) can say what to do then", name, s.step, s.chain, maker)
		}
		return rv.Part{Capture: s.slots[name] + 1}, true
	}
	g := c.globals[name]
	if _, own := s.slots[name]; g == nil || own {
		c.notMade(s, path, name)
		return part, false
	}
	if s.phase == v1alpha1.PhaseSetup && s.order < g.order {
		c.fail(path, "capture %q is read by step %q of setup chain %q before setup chain %q makes it", name, s.step,
			s.chain, g.chain)
		return part, false
	}
	markRead(g.makers)
	return rv.Part{Global: slices.Index(c.plan.Globals, name) + 1}, true
}

// drawn reports whether variable i has a value when the step needs the text.
func (c *compiler) drawn(s *scope, path *field.Path, i int) bool {
	v := &c.plan.Variables[i]
	early := s.early && v.Scope == rv.ScopeStep
	if early {
		c.fail(path, "${%s} has a new value for each request, and none before the request", v.Name)
	}
	return !early
}

func markRead(makers []*capture) {
	for _, m := range makers {
		m.read = true
	}
}

func (c *checker) notMade(s *scope, path *field.Path, name string) {
	switch maker, later := s.later[name]; {
	case !later:
		c.fail(path, "capture %q is made by no step of chain %q, where step %q reads it", name, s.chain, s.step)
	case maker == s.step:
		c.fail(path, "capture %q is made by step %q of chain %q itself, from the response to this request", name, maker,
			s.chain)
	default:
		c.fail(path, "capture %q is read by step %q of chain %q before step %q makes it", name, s.step, s.chain, maker)
	}
}
