package plan

import (
	"errors"
	"fmt"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// MaxSteps bounds the steps of all chains together, because status and every snapshot have an
// entry for each.
const MaxSteps = 256

// Check verifies what the execution of a plan relies on: every index points at something, every
// sequence has a value, every size is positive. It is no replacement for compiling: it finds
// plans that are broken or from elsewhere, not mistakes of users. All problems are returned,
// joined.
func Check(p *runnerv1alpha1.Plan) error {
	c := &checker{plan: p}
	c.require(p.APIVersion == runnerv1alpha1.APIVersion, "apiVersion %q is not %q", p.APIVersion, runnerv1alpha1.APIVersion)
	c.require(p.Kind == runnerv1alpha1.PlanKind, "kind %q is not %q", p.Kind, runnerv1alpha1.PlanKind)
	c.require(p.Shards >= 1, "shards is %d", p.Shards)
	c.require(p.CPUsPerShard >= 0, "cpusPerShard is %d", p.CPUsPerShard)
	c.require(p.Drain > 0 && p.Deadline >= 0, "drain is %v, deadline %v", p.Drain, p.Deadline)
	c.targets()
	c.variables()
	c.chains()
	c.rates()
	if len(c.errs) == 0 {
		return nil
	}
	return fmt.Errorf("the plan is not sound: %w", errors.Join(c.errs...))
}

type checker struct {
	plan *runnerv1alpha1.Plan
	errs []error
}

func (c *checker) require(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *checker) targets() {
	c.require(len(c.plan.Targets) > 0, "no target")
	for i, t := range c.plan.Targets {
		c.require(len(t.Endpoints) > 0, "targets[%d] has no endpoint", i)
		c.require(t.Connections >= c.plan.Shards, "targets[%d] has %d connections for %d shards", i, t.Connections, c.plan.Shards)
		c.require(t.MaxConcurrentStreams > 0, "targets[%d] has %d streams", i, t.MaxConcurrentStreams)
		c.require(t.ConnectTimeout > 0, "targets[%d] has connectTimeout %v", i, t.ConnectTimeout)
		c.connections(i, &c.plan.Targets[i])
	}
}

// connections: cleartext for https, or TLS for what has none, would be another test than asked for.
func (c *checker) connections(i int, t *runnerv1alpha1.Target) {
	for _, e := range t.Endpoints {
		c.require((e.Scheme == "https") == (t.TLS != nil), "targets[%d] has an endpoint of %s, and tls is %v", i, e.Scheme, t.TLS != nil)
	}
	cleartext := t.Protocol == runnerv1alpha1.ProtocolH2C
	secure := t.Protocol == runnerv1alpha1.ProtocolH2 || t.Protocol == runnerv1alpha1.ProtocolALPN
	c.require(cleartext || secure || t.Protocol == runnerv1alpha1.ProtocolHTTP1, "targets[%d] has protocol %q", i, t.Protocol)
	c.require(t.TLS == nil && !secure || t.TLS != nil && !cleartext, "targets[%d] has protocol %s, and tls is %v", i, t.Protocol, t.TLS != nil)
	c.require(t.TLS == nil || len(t.TLS.ALPN) > 0, "targets[%d] offers no protocol by ALPN", i)
	c.require(t.HTTP1.Pipeline >= 0, "targets[%d] has a pipeline of %d", i, t.HTTP1.Pipeline)
	n := &t.Connecting
	c.require(n.RampCount == 0 || n.RampCount > 0 && n.RampPeriod > 0, "targets[%d] opens %d connections in %v", i, n.RampCount, n.RampPeriod)
	c.require(n.MaxAge >= 0 && n.MaxRequests >= 0 && n.InactivityTimeout >= 0 && n.FailbackInterval >= 0 && t.HTTP2.PingInterval >= 0,
		"targets[%d] has a limit below zero", i)
}

func (c *checker) variables() {
	for i := range c.plan.Variables {
		v := &c.plan.Variables[i]
		if (v.Range != nil) == (len(v.List) > 0) {
			c.require(false, "variables[%d] is not exactly one of range and list", i)
			continue
		}
		if v.Range != nil && (v.Range.Step <= 0 || v.Range.Start < 0 || v.Range.End <= v.Range.Start) {
			c.require(false, "variables[%d] has an empty range", i)
			continue
		}
		c.require(v.Size() > 0, "variables[%d] has %d values", i, v.Size())
	}
}

func (c *checker) chains() {
	c.require(len(c.plan.Chains) > 0, "no chain")
	steps := 0
	for i := range c.plan.Chains {
		chain := &c.plan.Chains[i]
		steps += len(chain.Steps)
		c.require(chain.Target >= 0 && chain.Target < len(c.plan.Targets), "chains[%d].target is %d", i, chain.Target)
		c.require(chain.Weight > 0, "chains[%d].weight is %d", i, chain.Weight)
		c.require(len(chain.Steps) > 0, "chains[%d] has no step", i)
		for j := range chain.Steps {
			c.step(fmt.Sprintf("chains[%d].steps[%d]", i, j), chain, &chain.Steps[j])
		}
	}
	c.require(steps <= MaxSteps, "%d steps", steps)
}

func (c *checker) step(at string, chain *runnerv1alpha1.Chain, s *runnerv1alpha1.Step) {
	c.require(s.Method != "", "%s has no method", at)
	c.require(len(s.Path) > 0, "%s has no path", at)
	c.require(s.Timeout > 0 && s.Timeout <= c.plan.Drain, "%s has timeout %v", at, s.Timeout)
	c.text(at+".path", chain, s.Path)
	c.text(at+".body", chain, s.Body)
	for _, h := range s.Headers {
		c.require(len(h.Name) > 0, "%s has a header without a name", at)
		c.text(at+".headers", chain, h.Value)
	}
	for _, capture := range s.Capture {
		c.require(capture.Slot >= 0 && capture.Slot < len(chain.Captures), "%s captures into slot %d", at, capture.Slot)
		c.require(capture.Source.Kind != "", "%s captures no header", at)
	}
	for _, r := range s.Expect.Status {
		c.require(r.From >= 100 && r.From <= r.To && r.To <= 599, "%s expects status %d to %d", at, r.From, r.To)
	}
}

func (c *checker) text(at string, chain *runnerv1alpha1.Chain, text runnerv1alpha1.Text) {
	for _, part := range text {
		set := 0
		if part.Literal != "" {
			set++
		}
		if part.Variable != 0 {
			set++
			c.require(part.Variable > 0 && part.Variable <= len(c.plan.Variables), "%s reads variable %d", at, part.Variable)
		}
		if part.Capture != 0 {
			set++
			c.require(part.Capture > 0 && part.Capture <= len(chain.Captures), "%s reads capture %d", at, part.Capture)
		}
		c.require(set == 1, "%s has a part with %d values", at, set)
	}
}

func (c *checker) rates() {
	measured := 0
	for i, r := range c.plan.Rates {
		if !r.WarmUp {
			measured++
		}
		c.require(r.AsFastAsPossible != (r.Count > 0 && r.Period > 0), "rates[%d] has not exactly one mode", i)
		c.require(r.Duration >= 0 && r.Requests >= 0 && (r.Duration > 0 || r.Requests > 0), "rates[%d] has no bound", i)
	}
	c.require(measured > 0, "no measured rate stage")
}
