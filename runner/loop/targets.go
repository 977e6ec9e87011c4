package loop

import (
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/h1"
	"github.com/h2surge/h2surge/runner/h2"
	"github.com/h2surge/h2surge/runner/location"
)

// target is what the plan says about a target, and how requests to it are rendered.
type target struct {
	plan *rv.Target
	// origin is the target of the plan that this one was followed from, or itself.
	origin int32
	// uncredentialed: requests do not have the credentials of the origin, because a response named the authority.
	uncredentialed bool
	// encoders and heads render requests, by endpoint.
	encoders []*chain.Encoder
	heads    []*chain.Head
	http2    h2.Config
	http1    h1.Config
	// encoderTable bounds the HPACK table our requests use, in octets.
	encoderTable uint32
	// noStream is why requests are dropped while connections are busy.
	noStream failure.Cause
}

// targets are those of the plan, then those that are followed. The slice does not move, because it has the capacity for all.
type targets struct {
	program *chain.Program
	all     []target
	// followed are targets that wait for their connections.
	followed []int32
	// scheme and authority are for the duration of one call.
	scheme, authority []byte
}

func newTargets(p *chain.Program) targets {
	ts := targets{program: p, all: make([]target, len(p.Targets), len(p.Targets)+maxFollowed)}
	for i := range p.Targets {
		ts.all[i] = newTarget(p, &p.Targets[i], int32(i))
	}
	return ts
}

func newTarget(p *chain.Program, plan *rv.Target, origin int32) target {
	t := target{plan: plan, origin: origin}
	t.noStream = failure.Cause{Kind: rv.CauseNoStream, Detail: plan.Name}
	t.http2, t.encoderTable = http2Config(plan)
	t.http1 = h1.Config{Pipeline: plan.HTTP1.Pipeline, NoKeepAlive: plan.HTTP1.NoKeepAlive}
	for e := range plan.Endpoints {
		t.encoders = append(t.encoders, chain.NewEncoder(p, int(origin), &plan.Endpoints[e]))
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

// maxFollowed bounds the authorities that a worker connects to because a captured URI names
// them; each costs connections.
const maxFollowed = 64

// route is the target of an instance's step: that of the plan, or another authority that its request names, or the URI
// that its path begins with. None: that authority cannot be connected to.
func (ts *targets) route(in *flow.Instance, s *chain.Step) int32 {
	t := int32(s.Target)
	if s.HasAuthority {
		return ts.named(t, in, s)
	}
	if !s.BeginsWithURI || !ts.all[t].plan.FollowAuthority {
		return t
	}
	scheme, authority, ok := in.Authority(s)
	if !ok {
		return t
	}
	return ts.of(t, scheme, authority)
}

// redirect is the target of the request of a step that follows a redirect, or flow.None. A target that forwards requests gets this
// one, too.
func (ts *targets) redirect(in *flow.Instance, s *chain.Step, step int32) int32 {
	if s.RedirectField != nil {
		return ts.route(in, s)
	}
	x := in.RedirectOf(step)
	return ts.of(int32(s.Target), x.Scheme, x.Authority)
}

// named returns the target for the host and port that a request names, or flow.None if they are not valid or too many others
// were followed.
func (ts *targets) named(t int32, in *flow.Instance, s *chain.Step) int32 {
	ts.authority = in.AppendAuthority(ts.authority[:0], s)
	authority, err := location.ParseAuthority(ts.authority)
	if err != nil {
		return flow.None
	}
	ts.scheme = append(ts.scheme[:0], ts.all[t].plan.Endpoints[0].Scheme...)
	return ts.of(t, ts.scheme, authority)
}

// of returns the target for an authority that a URI names in an exchange with target t: t itself, or else the
// target that follows the authority. None: that authority cannot be connected to, or t does not follow authorities.
func (ts *targets) of(t int32, scheme, authority []byte) int32 {
	if ts.owns(t, scheme, authority) {
		return t
	}
	if !ts.all[t].plan.FollowAuthority {
		return flow.None
	}
	return ts.follow(t, scheme, authority)
}

// owns returns whether an authority is that of an endpoint of target t.
func (ts *targets) owns(t int32, scheme, authority []byte) bool {
	for _, e := range ts.all[t].plan.Endpoints {
		if location.SameAuthority(scheme, authority, []byte(e.Scheme), []byte(e.Authority)) {
			return true
		}
	}
	return false
}

// follow finds or makes the target for an authority. It is like the one it was come from in all else.
func (ts *targets) follow(from int32, scheme, authority []byte) int32 {
	planned := len(ts.program.Targets)
	for i := planned; i < len(ts.all); i++ {
		t := &ts.all[i]
		e := &t.plan.Endpoints[0]
		if t.origin == from && location.SameAuthority(scheme, authority, []byte(e.Scheme), []byte(e.Authority)) {
			return int32(i)
		}
	}
	origin := &ts.program.Targets[from]
	if len(ts.all)-planned == maxFollowed || (string(scheme) == "https") != (origin.TLS != nil) {
		return flow.None
	}
	plan := *origin
	e := rv.Endpoint{Scheme: string(scheme), Authority: string(authority)}
	e.Address = addressOf(e.Scheme, e.Authority)
	plan.Endpoints = []rv.Endpoint{e}
	i := int32(len(ts.all))
	ts.all = append(ts.all, newTarget(ts.program, &plan, from))
	ts.all[i].uncredentialed = !origin.FollowWithCredentials
	ts.followed = append(ts.followed, i)
	return i
}

// endFollow notes that the targets that were followed have their connections.
func (ts *targets) endFollow() { ts.followed = ts.followed[:0] }

// addressOf adds the scheme's port where the authority has flow.None (RFC 9110 4.2.1, 4.2.2).
func addressOf(scheme, authority string) string {
	if colon := strings.LastIndexByte(authority, ':'); colon >= 0 && !strings.HasSuffix(authority, "]") {
		return authority
	}
	if scheme == "https" {
		return authority + ":443"
	}
	return authority + ":80"
}
