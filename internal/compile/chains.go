package compile

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
)

var specPath = field.NewPath("spec")

// chains compiles the chains. It returns false if the plan has too many steps or too large ones, and then lacks steps.
func (c *compiler) chains() bool {
	path := specPath.Child("chains")
	c.phases(path)
	if steps := countSteps(c.spec.Chains); steps > plan.MaxSteps {
		c.fail(path, "%d steps in all chains together, at most %d are possible", steps, plan.MaxSteps)
		return false
	}
	flat := make([][]flatStep, len(c.spec.Chains))
	for i := range c.spec.Chains {
		chain, at := &c.spec.Chains[i], path.Index(i)
		c.place(rv.Place{List: rv.PlaceChains, Index: i}, at)
		c.plan.Chains = append(c.plan.Chains, c.chain(at, chain))
		flat[i] = c.flatten(at.Child("steps"), chain)
	}
	c.addAnswers()
	c.oneUSIMEach(flat)
	c.publish(flat)
	for _, setup := range []bool{true, false} { // captures of setup chains are known before other chains read them
		for i := range c.spec.Chains {
			if (c.spec.Chains[i].Phase == v1alpha1.PhaseSetup) == setup {
				c.steps(i, flat[i])
			}
		}
	}
	if c.size.large {
		return false
	}
	c.weights()
	c.warnUnused()
	return true
}

// countSteps returns the number of steps of all chains, with those in parallel.
func countSteps(chains []v1alpha1.Chain) (n int) {
	for i := range chains {
		for j := range chains[i].Steps {
			n += max(1, len(chains[i].Steps[j].Parallel))
		}
	}
	return n
}

// phases checks the phases and delays of all chains together.
func (c *planner) phases(path *field.Path) {
	loads, own, prompt, unknown := 0, 0, 0, false
	for i := range c.spec.Chains {
		if chain := &c.spec.Chains[i]; chain.Phase == v1alpha1.PhaseLoad {
			loads++
			if len(chain.Rates) > 0 {
				own++
				continue
			}
			if chain.StartDelay == nil || chain.StartDelay.Duration == 0 {
				prompt++
			}
		} else if chain.Phase != v1alpha1.PhaseSetup && chain.Phase != v1alpha1.PhaseTeardown {
			unknown = true
		}
	}
	switch {
	case len(c.spec.Chains) == 0 || loads == 0 && unknown:
	case loads == 0:
		c.fail(path, "all chains are Setup or Teardown; at least one must be Load")
	case prompt == 0 && own < loads:
		c.fail(path, "all chains have a startDelay; at least one must start with the test")
	}
}

// chain compiles a chain without its steps.
func (c *compiler) chain(at *field.Path, in *v1alpha1.Chain) rv.Chain {
	out := rv.Chain{Name: in.Name, Weight: int(in.Weight), Cookies: in.Cookies}
	if _, ok := c.targetIndex[in.Target]; !ok {
		c.missing(at.Child("target"), "target", in.Target)
	}
	if in.Phase == v1alpha1.PhaseSetup || in.Phase == v1alpha1.PhaseTeardown {
		out.Phase = rv.PhaseSetup
		if in.Phase == v1alpha1.PhaseTeardown {
			out.Phase = rv.PhaseTeardown
		}
		if in.MaxInFlight != nil || in.StartDelay != nil {
			c.fail(at, "maxInFlight and startDelay go with phase Load")
		}
		if len(in.Rates) > 0 || in.StartAfter != nil {
			c.fail(at, "rates and startAfter go with phase Load")
		}
		if in.Weight != 1 {
			c.warn(at.Child("weight"), "has no effect on a %s chain, which runs once", in.Phase)
		}
		return out
	}
	if in.StartAfter != nil {
		out.StartAfter = in.StartAfter.Duration
		if len(in.Rates) == 0 {
			c.fail(at.Child("startAfter"), "startAfter needs rates")
		}
	}
	if in.StartDelay != nil {
		out.Delay = in.StartDelay.Duration
	}
	if in.MaxInFlight != nil {
		out.MaxInFlight = c.inFlight(at.Child("maxInFlight"), int(*in.MaxInFlight))
	}
	return out
}

func (c *planner) inFlight(at *field.Path, n int) int {
	if n < c.plan.Shards {
		c.fail(at, "must be at least runner.shards, one for each shard")
	} else {
		c.eachWorker(at, n, "an instance")
	}
	return n
}

// eachWorker warns if there are fewer of something than workers that need one each.
func (c *planner) eachWorker(at *field.Path, n int, what string) {
	if workers := c.plan.Shards * max(c.plan.CPUsPerShard, 1); n < workers {
		c.warn(at, "%d is below the %d workers of all shards, of which no more than that can work: each needs %s", n,
			workers, what)
	}
}

// publish lists the captures of setup chains, which all other chains can read.
func (c *compiler) publish(flat [][]flatStep) {
	c.globals = map[string]*global{}
	for i := range c.spec.Chains {
		if chain := &c.spec.Chains[i]; chain.Phase == v1alpha1.PhaseSetup {
			for j := range flat[i] {
				for _, m := range flat[i][j].request.captures {
					if m.answer == "" && c.globals[m.name] == nil {
						c.globals[m.name] = &global{chain: chain.Name, order: i}
						c.plan.Globals = append(c.plan.Globals, m.name)
					}
				}
			}
		}
	}
	for i := range c.spec.Chains {
		for j := range flat[i] {
			for _, m := range flat[i][j].request.captures {
				if g := c.globals[m.name]; g != nil && g.order != i {
					c.fail(m.path.Child("name"), "%q is what setup chain %q captures for all chains, so that chain %q must not "+
						"capture it too", m.name, g.chain, c.spec.Chains[i].Name)
				}
			}
		}
	}
}

// steps fills the steps of chain i and the slots that they share.
func (c *compiler) steps(i int, flat []flatStep) {
	out := &c.plan.Chains[i]
	s := newScope(&c.spec.Chains[i], i)
	for j := range flat {
		for _, m := range flat[j].request.captures {
			if _, known := s.slots[m.name]; known {
				continue
			}
			s.slots[m.name] = len(out.Captures)
			s.later[m.name] = flat[j].name
			out.Captures = append(out.Captures, m.name)
		}
	}
	c.bindings(s, flat, out)
	for from := 0; from < len(flat) && !c.size.large; {
		to := from + 1
		for to < len(flat) && flat[to].group > 0 && flat[to].group == flat[from].group {
			to++
		}
		c.together(s, flat[from:to], out)
		from = to
	}
	if len(out.Steps) > 0 {
		out.Target = out.Steps[0].Target
	}
	if out.Phase != rv.PhaseSetup {
		return
	}
	for _, name := range out.Captures {
		if g := c.globals[name]; g != nil && g.order == i {
			g.makers = s.makers[name]
		}
		out.Publish = append(out.Publish, slices.Index(c.plan.Globals, name)+1)
	}
}

// together compiles steps that are sent at the same time. They cannot read captures of each other.
func (c *compiler) together(s *scope, flat []flatStep, out *rv.Chain) {
	made := map[string]int{}
	for j := range flat {
		for _, m := range flat[j].request.captures {
			if k, taken := made[m.name]; taken && k != j {
				c.fail(m.path.Child("name"), "%q is captured by steps %q and %q of chain %q, which are sent at the same time",
					m.name, flat[k].name, flat[j].name, s.chain)
			}
			made[m.name] = j
		}
		step := c.step(s, &flat[j])
		if !c.fits(&step) {
			return
		}
		out.Steps = append(out.Steps, step)
	}
	for j := range flat {
		s.made(&flat[j])
		n := len(out.Steps) - len(flat) + j
		s.place.Step = n + 1
		out.Steps[n].Until = c.resolveConditions(s, &flat[j], "until", flat[j].until)
	}
}

func (c *compiler) missing(path *field.Path, what, name string) {
	names := map[string]map[string]int{"target": c.targetIndex, "template": c.templateIndex,
		"variable": c.variableIndex}[what]
	c.fail(path, "there is no %s %q%s", what, name, didYouMean(name, slices.Sorted(maps.Keys(names))))
}

// drainSlack is added to the longest timeout, so that the last requests time out before the run ends. A worker sends a
// request up to one turn of its loop after the scheduled time, and notices a timeout up to one turn late. A turn takes
// at most 10 ms, unless the generator lags. Without drainSlack, such requests would count as in flight at the end.
const drainSlack = 100 * time.Millisecond

func (c *compiler) step(s *scope, f *flatStep) rv.Step {
	s.step, s.guarded = f.name, len(f.when) > 0 || f.always
	r := f.request
	s.place.Step = len(c.plan.Chains[s.order].Steps) + 1
	c.place(s.place, r.path)
	if f.repeat > 1 {
		s.again(f)
	}
	out := rv.Step{
		Name:         f.name,
		Target:       max(f.targetIndex, 0),
		Expect:       c.resolveExpect(s, &r.expect),
		Think:        f.think,
		When:         c.resolveConditions(s, f, "when", f.when),
		Group:        f.group,
		OnFailure:    f.onFailure,
		ClearCookies: f.clearCookies,
		Always:       f.always,
	}
	if f.repeat > 1 {
		out.Repeat = f.repeat
	}
	if f.await != nil {
		c.resolveAwait(s, f.await, &out)
	} else {
		out.Operation = r.operation
		c.message(s, r, &out)
		c.addSBI(s, r, &out)
		forwarded(&out)
		c.asterisk(r, f.targetIndex)
		c.plan.Drain = max(c.plan.Drain, r.timeout+drainSlack)
	}
	for _, m := range r.captures {
		if m.answer != "" {
			out.Expect.USIM.Answers = append(out.Expect.USIM.Answers, rv.UsimAnswer{Name: m.answer, Slot: s.slots[m.name]})
			continue
		}
		c.place(s.place.In("capture", len(out.Capture)), m.path)
		made := m.plan
		made.Slot = s.slots[m.name]
		out.Capture = append(out.Capture, made)
	}
	return out
}

func (c *compiler) resolveExpect(s *scope, in *expectation) rv.Expect {
	out := rv.Expect{Status: in.status}
	for i := range in.checks {
		c.place(s.place.In("expect.checks", i), in.checks[i].path)
		made := in.checks[i].plan
		if made.Source != nil {
			m := c.resolveMatch(s, &in.checks[i].match)
			made.Match = &m
		}
		out.Checks = append(out.Checks, made)
	}
	if in.usim != "" {
		out.USIM = &rv.USIM{Variable: c.variableIndex[in.usim] + 1}
	}
	return out
}

func (c *compiler) resolveMatch(s *scope, in *match) rv.Match {
	out := in.plan
	if want := c.resolve(s, in.want); want != nil {
		out.Want = want
	}
	return out
}

// resolveConditions resolves the conditions of a field of a step. Conditions can read captures that may be empty.
func (c *compiler) resolveConditions(s *scope, f *flatStep, name string, in []condition) (out []rv.Condition) {
	guarded := s.guarded
	s.step, s.guarded, s.early = f.name, true, name == "when"
	for i := range in {
		c.place(s.place.In(name, i), in[i].path)
		out = append(out, rv.Condition{Value: c.resolve(s, in[i].value), Match: c.resolveMatch(s, &in[i].match)})
	}
	s.guarded, s.early = guarded, false
	return out
}

// asterisk reports "OPTIONS *" on a target whose URL has a path, because runners prepend that path.
func (c *planner) asterisk(r *request, target int) {
	if literal, constant := r.target.constant(); !constant || literal != "*" || target < 0 ||
		target >= len(c.plan.Targets) {
		return
	}
	for _, e := range c.plan.Targets[target].Endpoints {
		if e.BasePath != "" {
			c.fail(r.target.path, "* is not possible on target %q, whose url has a path", c.plan.Targets[target].Name)
			return
		}
	}
}

// warnUnused warns of targets, workers, templates, variables and captures that are not used.
func (c *compiler) warnUnused() {
	targets := c.plan.SentTo()
	for i, t := range c.spec.Targets {
		switch {
		case targets[i]:
			if n := c.plan.Targets[i].Connections; n >= c.plan.Shards { // else it is an error
				c.eachWorker(specPath.Child("targets").Index(i).Child("connections"), n, "a connection")
			}
		case c.observed[i]:
			c.plan.Targets[i].Connecting = rv.Connecting{OnDemand: true} // no load, no connections
		default:
			c.warn(specPath.Child("targets").Index(i), "target %q is not used by a chain; its connections are opened anyway",
				t.Name)
		}
	}
	for i, l := range c.spec.Listeners {
		switch at := specPath.Child("listeners").Index(i); {
		case !c.listenerUsed[l.Name] && l.RulesFrom == nil:
			c.warn(at, "no step awaits a notification of listener %q, so all of them are unexpected", l.Name)
		case !c.listenerSent[l.Name] && l.Port == nil && !c.hidden:
			c.warn(at, "no request sends ${listener.%s.url}, so targets do not know where to send notifications", l.Name)
		}
	}
	for i, r := range c.requests {
		if !r.used && !r.extended {
			c.warn(r.path, "template %q is used by no chain", c.spec.Templates[i].Name)
		}
	}
	if c.hidden {
		return
	}
	for i, v := range c.spec.Variables {
		if !c.variableRead[v.Name] {
			c.warn(specPath.Child("variables").Index(i), "variable %q is never read", v.Name)
		}
	}
	warned := map[*capture]bool{} // several templates have a capture if they inherit it
	requests := slices.Clone(c.requests)
	eachAwait(c.spec, func(_ *field.Path, in *v1alpha1.Await) { requests = append(requests, c.awaits[in]) })
	for _, r := range requests {
		if r.used {
			for _, m := range r.captures {
				if !m.read && !warned[m] && m.name != "" {
					c.warn(m.path, "capture %q is never read", m.name)
				}
				warned[m] = true
			}
		}
	}
}
