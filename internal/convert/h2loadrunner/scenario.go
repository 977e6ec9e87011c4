package h2loadrunner

import (
	"fmt"
	"time"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
)

// scenario is one of theirs, which becomes a chain.
type scenario struct {
	*converter
	in    *convert.Object
	name  string
	at    string // of the chain in the LoadTest
	chain v1alpha1.Chain
	// values are what names mean to the request that is being converted.
	values map[string]value
	// picked are the captures that value-pickers became.
	picked map[string]string
	token  string
	// previous is the request before; nil at the first.
	previous *request
	// guard is the capture without which the rest of the chain is not sent; empty: none.
	guard string
}

func (c *converter) scenarios() {
	list := c.top.List("Scenarios")
	if len(list) == 0 {
		c.Fail("Scenarios", "at least one is required")
		return
	}
	weights := make([]int64, 0, len(list))
	for _, in := range list {
		weight := in.Whole("weight", 100)
		if weight == 0 {
			c.Warn(in.At("weight"), "is 0, so the scenario is never run; it is left out")
			continue
		}
		c.scenario(in)
		weights = append(weights, weight)
	}
	if len(c.Spec().Chains) == 0 {
		c.Fail("Scenarios", "none of them is ever run")
		return
	}
	c.weigh(weights)
	c.delay()
	if len(c.Spec().Chains) > 1 {
		c.Spec().WeightBy = v1alpha1.WeightByRequests
	}
}

func (c *converter) scenario(in *convert.Object) {
	s := &scenario{converter: c, in: in, name: in.Text("name"), values: map[string]value{}, picked: map[string]string{}}
	if s.name == "" {
		c.Fail(in.At("name"), "is needed")
	}
	s.at = fmt.Sprintf("spec.chains[%d]", len(c.Spec().Chains))
	c.Origin(s.at, in.Path)
	s.chain = v1alpha1.Chain{Name: c.Unique("chain", convert.DashName(s.name)), Target: mainTarget}
	if ms := in.Whole("interval-to-wait-before-start", 0); ms > 0 {
		s.chain.StartDelay = convert.Given(milliseconds(ms))
	}
	s.variables()
	parallel := in.Flag("run-requests-in-parallel")
	requests := in.List("Requests")
	if len(requests) == 0 {
		c.Fail(in.At("Requests"), "at least one is required")
	}
	if len(requests) > 1 {
		s.chain.Cookies = true
		c.WarnAt(s.at+".cookies", "Scenarios",
			"h2loadrunner keeps cookies always, so this is set; remove it where no response sets any")
	}
	s.requests(requests, parallel && len(requests) > 1)
	in.End()
	c.Spec().Chains = append(c.Spec().Chains, s.chain)
}

// longestSpan keeps sums of durations from overflowing; compile refuses it.
const longestSpan = 1 << 40

func milliseconds(ms int64) time.Duration {
	return time.Duration(min(ms, longestSpan)) * time.Millisecond
}

// maxGroup is the most steps of one parallel step.
const maxGroup = 16

func (s *scenario) requests(list []*convert.Object, parallel bool) {
	think := time.Duration(0)
	for i, in := range list {
		r := s.request(in, i, parallel)
		step := v1alpha1.Step{Template: r.template, Target: r.otherTarget(), OnFailure: v1alpha1.FailureContinue,
			ClearCookies: r.clearCookies}
		if s.guard != "" && !parallel {
			step.When = []v1alpha1.Condition{{Value: "${" + s.guard + "}", Comparison: v1alpha1.Comparison{Exists: new(true)}}}
		}
		if think > 0 && !parallel {
			step.ThinkTime = &v1alpha1.ThinkTime{Fixed: convert.Given(think)}
		}
		think = milliseconds(in.Whole("delay-before-executing-next", 0))
		in.End()
		if !parallel {
			s.chain.Steps = append(s.chain.Steps, step)
			continue
		}
		if think > 0 {
			s.Warn(in.At("delay-before-executing-next"), "is left out: all requests of the scenario are sent at once")
		}
		s.sideBySide(in, step, i)
	}
	if think > 0 && !parallel {
		s.Warn(list[len(list)-1].At("delay-before-executing-next"), "is left out: there is no request after it")
	}
	s.evenGroups(parallel)
}

// sideBySide adds a request to the parallel step, or begins another one when it is full.
func (s *scenario) sideBySide(in *convert.Object, step v1alpha1.Step, i int) {
	if step.ClearCookies {
		s.Warn(in.At("clear-old-cookies"), "is left out: requests that are sent at once share their cookies")
	}
	if i%maxGroup == 0 {
		s.chain.Steps = append(s.chain.Steps, v1alpha1.Step{})
	}
	if i == maxGroup {
		s.WarnAt(s.at+".steps", s.in.At("run-requests-in-parallel"),
			"%d requests are sent at once at most; the next ones follow when these have ended", maxGroup)
	}
	group := &s.chain.Steps[len(s.chain.Steps)-1]
	group.Parallel = append(group.Parallel, v1alpha1.ParallelStep{Template: step.Template, Target: step.Target,
		OnFailure: step.OnFailure})
}

// evenGroups turns a last group with one request into a request without a group.
func (s *scenario) evenGroups(parallel bool) {
	n := len(s.chain.Steps)
	if !parallel || n == 0 || len(s.chain.Steps[n-1].Parallel) != 1 {
		return
	}
	one := s.chain.Steps[n-1].Parallel[0]
	s.chain.Steps[n-1] = v1alpha1.Step{Template: one.Template, Target: one.Target, OnFailure: one.OnFailure}
}

// maxWeight is the highest weight of a chain.
const maxWeight = 10000

// weigh reduces the weights to at most maxWeight.
func (c *converter) weigh(weights []int64) {
	common, greatest := weights[0], weights[0]
	for _, w := range weights {
		common, greatest = gcd(common, w), max(greatest, w)
	}
	if greatest/common > maxWeight {
		c.Warn("Scenarios[].weight", "weights are scaled to %d at most, and rounded", maxWeight)
	}
	for i := range c.Spec().Chains {
		w := weights[i] / common
		if greatest/common > maxWeight {
			w = max(1, w*maxWeight/(greatest/common))
		}
		if len(weights) > 1 {
			c.Spec().Chains[i].Weight = int32(w)
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// delay: a LoadTest begins with some chain, so the shortest delay counts from there.
func (c *converter) delay() {
	chains := c.Spec().Chains
	var least time.Duration
	for i := range chains {
		if chains[i].StartDelay == nil {
			return
		}
		if d := chains[i].StartDelay.Duration; i == 0 || d < least {
			least = d
		}
	}
	c.Warn("Scenarios[].interval-to-wait-before-start",
		"all scenarios wait; here the test begins when the first may start, %v earlier", least)
	for i := range chains {
		if chains[i].StartDelay.Duration -= least; chains[i].StartDelay.Duration == 0 {
			chains[i].StartDelay = nil
		}
	}
}
