package conns

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/h3"
)

// Target is what the plan says about a target, and how requests to it are rendered.
type Target struct {
	Plan *rv.Target
	// Origin is the target of the plan that this one was followed from, or itself.
	Origin int32
	// Uncredentialed: requests do not have the credentials of the origin, because a response named the authority.
	Uncredentialed bool
	// encoders and heads render requests, by endpoint.
	encoders []*chain.Encoder
	heads    []*chain.Head
	http3    h3.Config
	http2    h2.Config
	http1    h1.Config
	// encoderTable bounds the HPACK table our requests use, in octets.
	encoderTable uint32
}

// newTarget returns a target of a program. Its requests are those to the origin.
func newTarget(p *chain.Program, plan *rv.Target, origin int32) Target {
	t := Target{Plan: plan, Origin: origin, http1: h1.Config{Pipeline: plan.HTTP1.Pipeline,
		NoKeepAlive: plan.HTTP1.NoKeepAlive}}
	t.http2, t.encoderTable = http2Config(plan)
	t.http3 = h3.Config{MaxConcurrentStreams: plan.MaxConcurrentStreams}
	newEncoder := chain.NewEncoder
	if plan.Protocol == rv.ProtocolH3 {
		newEncoder = chain.NewQPACKEncoder
	}
	for e := range plan.Endpoints {
		t.encoders = append(t.encoders, newEncoder(p, int(origin), &plan.Endpoints[e]))
		t.heads = append(t.heads, chain.NewHead(p, int(origin), &plan.Endpoints[e], !plan.HTTP1.NoKeepAlive))
	}
	return t
}

// http2Config is the session's configuration and the bound on our encoder's table.
func http2Config(t *rv.Target) (h2.Config, uint32) {
	c := h2.Config{MaxConcurrentStreams: t.MaxConcurrentStreams}
	encoder := uint32(chain.MaxTable)
	for _, f := range []struct{ from, to *uint32 }{
		{t.HTTP2.HeaderTableSize, &c.HeaderTableSize},
		{t.HTTP2.StreamWindow, &c.StreamWindow},
		{t.HTTP2.ConnectionWindow, &c.ConnWindow},
		{t.HTTP2.MaxFrameSize, &c.MaxFrameSize},
		{t.HTTP2.EncoderTableSize, &encoder},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	c.NoHeaderTable = t.HTTP2.HeaderTableSize != nil && *t.HTTP2.HeaderTableSize == 0
	return c, encoder
}
