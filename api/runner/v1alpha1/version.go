package v1alpha1

import (
	"fmt"
	"slices"
)

// RequiredProtocol returns the lowest ProtocolVersion of a runner that can execute the plan.
func (p *Plan) RequiredProtocol() int {
	batch := slices.ContainsFunc(p.Targets, func(t Target) bool { return t.Batch })
	rates := slices.ContainsFunc(p.Rates, Rate.needs4)
	traced := slices.ContainsFunc(p.Variables, func(v Variable) bool { return v.Traceparent != nil })
	multipart := slices.ContainsFunc(p.Chains, Chain.isMultipart)
	controlled := slices.ContainsFunc(p.Targets, func(t Target) bool { return t.CountLoadControl })
	certificates := slices.ContainsFunc(p.Targets, Target.presentsToEndpoint)
	selections, _ := p.Selections()
	switch {
	case slices.ContainsFunc(p.Targets, func(t Target) bool { return t.Protocol == ProtocolDiscovered }):
		return 8
	case p.RequestLimit > 0:
		return 7
	case len(p.Listeners) > 0 || controlled || slices.ContainsFunc(p.Targets, Target.asserts) || slices.ContainsFunc(p.Chains, Chain.needs6):
		return 6
	case slices.ContainsFunc(p.Targets, Target.sharesCredentials) || slices.ContainsFunc(p.Variables, func(v Variable) bool { return v.Subscribers != nil }):
		return 6
	case multipart || certificates || slices.ContainsFunc(p.Thresholds, Threshold.needs5):
		return 5
	case traced || rates || len(selections) > 0 || p.Policy != nil || p.GracefulStop > 0:
		return 4
	case batch || p.IdleStrategy != IdleAuto || p.SleepInterval != 0:
		return 3
	case p.LeaseDuration > 0:
		return 2
	}
	return 1
}

// needs4 returns whether a runner before version 4 rejects the stage, or executes another one.
func (r Rate) needs4() bool {
	return r.ChainsPerSecond || r.Chain > 0 || r.ramps() || r.Arrivals != ArrivalsEven || r.Hold || r.ClosedLoop && r.Count > 0 || !r.ClosedLoop && r.Count == 0
}

// needs5 returns whether a runner before version 5 does not report the figure.
func (t Threshold) needs5() bool {
	return t.Metric.OfTargets() >= 0 && t.Metric != MetricConnect && t.Metric != MetricBlocked
}

// needs6 returns whether a runner before version 6 rejects a step, or does not wait for Retry-After before its retries.
func (c Chain) needs6() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool {
		return s.OnFailure.Retries > 0 || s.MaxRedirects > 0 || len(s.Authority) > 0 || s.omitsHeaders() || s.Operation != ""
	})
}

// omitsHeaders returns whether the step has a header field that a runner before version 6 rejects.
func (s *Step) omitsHeaders() bool {
	return slices.ContainsFunc(s.Headers, func(h Header) bool { return h.OmitEmpty })
}

// asserts returns whether requests have a client assertion, which a runner before version 6 rejects.
func (t Target) asserts() bool { return t.ClientAssertion != nil }

// sharesCredentials returns whether followed authorities get credentials, which a runner before version 6 rejects.
func (t Target) sharesCredentials() bool { return t.FollowWithCredentials }

// presentsToEndpoint returns whether the token endpoint gets a client certificate, which a runner before version 5 rejects.
func (t Target) presentsToEndpoint() bool {
	return t.Auth != nil && t.Auth.OAuth2 != nil && t.Auth.OAuth2.CertFile != ""
}

// isMultipart returns whether a step has parts, which a runner before version 5 rejects.
func (c Chain) isMultipart() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return len(s.Parts) > 0 || s.readsParts() })
}

// readsParts returns whether the step has a source that was added with multipart contents.
func (s *Step) readsParts() bool {
	added := func(in *Source) bool { return in != nil && (in.Part != "" || in.Kind == SourceBodyHex) }
	return slices.ContainsFunc(s.Capture, func(c Capture) bool { return added(&c.Source) }) ||
		slices.ContainsFunc(s.Expect.Checks, func(c Check) bool { return c.SchemaPart != "" || added(c.Source) })
}

// Mismatch returns why a runner and an operator of different builds cannot run the plan together. It is empty if they
// can. Operator is the build of the operator.
//
// A runner of another version rejects a plan with a field that it does not know, so a rejected plan is a mismatch, too.
func (s *Snapshot) Mismatch(p *Plan, operator string) string {
	speaks := max(1, s.Protocol)
	required := p.RequiredProtocol()
	rejected := s.Problem == ProblemPlan && speaks != ProtocolVersion
	if speaks >= required && !rejected {
		return ""
	}
	build := s.Version
	if build == "" {
		build = "unknown"
	}
	out := fmt.Sprintf("The runner (build %s) has protocol version %d, the operator (build %s) has version %d, and the test needs version %d",
		build, speaks, operator, ProtocolVersion, required)
	if rejected {
		out += "; the runner rejected the plan: " + s.Message
	}
	return out + ". Use a runner image and an operator of the same version"
}
