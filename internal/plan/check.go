package plan

import (
	"errors"
	"fmt"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// MaxSteps is the maximum number of steps of all chains together: each snapshot and the report have an entry for each
// step.
const MaxSteps = 256

// MaxWeight is the maximum weight of a chain. The sum of 64 weights fits into an int64, and every JSON library can
// represent a weight exactly (RFC 8259 6).
const MaxWeight = 1 << 48

// Check verifies what runners rely on: every index is in range, every sequence has a value, every size is positive. It
// does not replace compiling: it finds damaged plans, and compiling finds mistakes of users. It returns all problems,
// joined.
func Check(p *runnerv1alpha1.Plan) error {
	c := &checker{plan: p}
	c.require(p.APIVersion == runnerv1alpha1.APIVersion, "apiVersion %q is not %q", p.APIVersion, runnerv1alpha1.APIVersion)
	c.require(p.Kind == runnerv1alpha1.PlanKind, "kind %q is not %q", p.Kind, runnerv1alpha1.PlanKind)
	c.require(p.Shards >= 1, "shards is %d", p.Shards)
	c.require(p.CPUsPerShard >= 0, "cpusPerShard is %d", p.CPUsPerShard)
	c.require(slices.Contains([]runnerv1alpha1.IdleStrategy{runnerv1alpha1.IdleAuto, runnerv1alpha1.IdleSpin, runnerv1alpha1.IdleSleep}, p.IdleStrategy),
		"idleStrategy is %q", p.IdleStrategy)
	c.require(p.SleepInterval == 0 || p.SleepInterval >= runnerv1alpha1.MinSleepInterval && p.SleepInterval <= runnerv1alpha1.MaxSleepInterval,
		"sleepInterval is %v", p.SleepInterval)
	c.require(p.Drain > 0 && p.Deadline >= 0 && p.GracefulStop >= 0, "drain is %v, deadline %v, gracefulStop %v", p.Drain, p.Deadline, p.GracefulStop)
	c.targets()
	c.variables()
	c.listeners()
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

// count returns how many conditions are true.
func count(conditions ...bool) (n int) {
	for _, t := range conditions {
		if t {
			n++
		}
	}
	return n
}

func (c *checker) targets() {
	c.require(len(c.plan.Targets) > 0, "no target")
	for i, t := range c.plan.Targets {
		c.require(len(t.Endpoints) > 0, "targets[%d] has no endpoint", i)
		c.require(t.Connections >= c.plan.Shards, "targets[%d] has %d connections for %d shards", i, t.Connections, c.plan.Shards)
		c.require(t.MaxConcurrentStreams > 0, "targets[%d] has %d streams", i, t.MaxConcurrentStreams)
		c.require(t.ConnectTimeout > 0, "targets[%d] has connectTimeout %v", i, t.ConnectTimeout)
		c.connections(i, &c.plan.Targets[i])
		if a := t.ClientAssertion; a != nil {
			c.require(a.Subject != "" && len(a.Audience) > 0 && a.CertFile != "" && a.KeyFile != "" && a.Lifetime >= 0, "targets[%d].clientAssertion is not complete", i)
		}
		if t.Auth != nil {
			c.require(count(t.Auth.Basic != nil, t.Auth.Bearer != nil, t.Auth.OAuth2 != nil) == 1, "targets[%d].auth is not exactly one of basic, bearer and oauth2", i)
		}
	}
}

// connections checks the endpoints and settings of a target. With TLS for an http endpoint, or without it for an https
// endpoint, the runner would do another test than the user asked for.
func (c *checker) connections(i int, t *runnerv1alpha1.Target) {
	for _, e := range t.Endpoints {
		c.require((e.Scheme == "https") == (t.TLS != nil), "targets[%d] has an endpoint of %s, and tls is %v", i, e.Scheme, t.TLS != nil)
	}
	cleartext := t.Protocol == runnerv1alpha1.ProtocolH2C || t.Protocol == runnerv1alpha1.ProtocolDiscovered
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

func (c *checker) rates() {
	measured := 0
	for i, r := range c.plan.Rates {
		if !r.WarmUp {
			measured++
		}
		if err := r.Check(); err != nil {
			c.errs = append(c.errs, fmt.Errorf("rates[%d]: %w", i, err))
		}
	}
	c.require(measured > 0, "no measured rate stage")
}
