package plan

import (
	"fmt"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

var (
	scopes  = []runnerv1alpha1.Scope{runnerv1alpha1.ScopeInstance, runnerv1alpha1.ScopeStep, runnerv1alpha1.ScopeWorker, runnerv1alpha1.ScopeGlobal}
	orders  = []runnerv1alpha1.Order{runnerv1alpha1.OrderSequential, runnerv1alpha1.OrderShuffled, runnerv1alpha1.OrderRandom}
	formats = []runnerv1alpha1.TimeFormat{
		runnerv1alpha1.TimeRFC3339, runnerv1alpha1.TimeRFC3339Milli, runnerv1alpha1.TimeEpochSeconds,
		runnerv1alpha1.TimeEpochMilliseconds, runnerv1alpha1.TimeIMFFixdate, runnerv1alpha1.TimeIMFFixdateMilli,
	}
)

func (c *checker) variables() {
	for i := range c.plan.Variables {
		v, at := &c.plan.Variables[i], fmt.Sprintf("variables[%d]", i)
		kinds := count(v.Range != nil, len(v.List) > 0, v.CSV != nil, v.Subscribers != nil, v.Random != nil, v.UUID, v.Counter != nil,
			v.Timestamp != nil, v.Env != nil, len(v.PerShard) > 0, v.Constant != nil, v.Traceparent != nil)
		c.require(kinds == 1, "%s has %d sources of values", at, kinds)
		c.require(slices.Contains(scopes, v.Scope), "%s has scope %q", at, v.Scope)
		c.require(slices.Contains(orders, v.Order), "%s has order %q", at, v.Order)
		c.content(at+".constant", v.Constant)
		switch {
		case v.Range != nil:
			if v.Range.Step <= 0 || v.Range.Start < 0 || v.Range.End <= v.Range.Start {
				c.require(false, "%s has an empty range", at)
				continue
			}
			c.require(v.Size() > 0, "%s has %d values", at, v.Size())
		case v.CSV != nil:
			c.content(at+".csv", &v.CSV.Content)
		case v.Subscribers != nil:
			c.subscribers(at+".subscribers", v.Subscribers)
		case v.Random != nil:
			c.random(at+".random", v.Random)
		case v.Timestamp != nil:
			c.require(slices.Contains(formats, v.Timestamp.Format), "%s has format %q", at, v.Timestamp.Format)
		case v.Traceparent != nil:
			r := v.Traceparent.Ratio
			c.require(r >= 0 && r <= 1 && v.Scope == runnerv1alpha1.ScopeStep, "%s has ratio %v and scope %q", at, r, v.Scope)
		case v.Env != nil:
			c.require(v.Env.Name != "", "%s has no name", at)
		}
	}
}

func (c *checker) subscribers(at string, s *runnerv1alpha1.Subscribers) {
	if err := s.Check(); err != nil {
		c.require(false, "%s.%v", at, err)
	}
	if s.AKA != nil {
		c.content(at+".aka.k", &s.AKA.K)
		c.content(at+".aka.op", s.AKA.OP)
		c.content(at+".aka.opc", s.AKA.OPc)
	}
}

func (c *checker) random(at string, r *runnerv1alpha1.Random) {
	kinds := count(r.Integer != nil, r.Hex != 0, r.String != nil, len(r.Choice) > 0)
	c.require(kinds == 1 && r.Hex >= 0, "%s has %d kinds", at, kinds)
	c.require(r.Integer == nil || r.Integer.Min <= r.Integer.Max, "%s has no integer", at)
	c.require(r.String == nil || r.String.Length > 0 && r.String.Alphabet != "", "%s has no string", at)
	for _, choice := range r.Choice {
		c.require(choice.Weight > 0, "%s has a weight of %d", at, choice.Weight)
	}
}

// content may be nil.
func (c *checker) content(at string, content *runnerv1alpha1.Content) {
	if content != nil {
		c.require(count(content.Text != "", len(content.Bytes) > 0, content.File != "", content.Env != "") <= 1, "%s has several contents", at)
	}
}
