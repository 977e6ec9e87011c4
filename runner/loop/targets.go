package loop

import (
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/conns"
	"github.com/h2surge/h2surge/runner/flow"
	"github.com/h2surge/h2surge/runner/location"
)

// target is a target of the plan, or one that was followed.
type target struct {
	conns.Target
	// uncredentialed: requests do not have the credentials of the origin, because a response named the authority.
	uncredentialed bool
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
		ts.all[i].Target = conns.NewTarget(p, &p.Targets[i], int32(i))
	}
	return ts
}

// maxFollowed bounds the authorities that a worker connects to because a captured URI names
// them; each costs connections.
const maxFollowed = 64

// ofAll returns the targets for connections: also the places of those that will be followed.
func (ts *targets) ofAll() (out []*conns.Target) {
	all := ts.all[:cap(ts.all)]
	for i := range all {
		out = append(out, &all[i].Target)
	}
	return out
}

// route is the target of an instance's step: that of the plan, or another authority that its request names, or the URI
// that its path begins with. None: that authority cannot be connected to.
func (ts *targets) route(in *flow.Instance, s *chain.Step) int32 {
	t := int32(s.Target)
	if s.HasAuthority {
		return ts.named(t, in, s)
	}
	if !s.BeginsWithURI || !ts.all[t].Plan.FollowAuthority {
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
	ts.scheme = append(ts.scheme[:0], ts.all[t].Plan.Endpoints[0].Scheme...)
	return ts.of(t, ts.scheme, authority)
}

// of returns the target for an authority that a URI names in an exchange with target t: t itself, or else the
// target that follows the authority. None: that authority cannot be connected to, or t does not follow authorities.
func (ts *targets) of(t int32, scheme, authority []byte) int32 {
	if ts.owns(t, scheme, authority) {
		return t
	}
	if !ts.all[t].Plan.FollowAuthority {
		return flow.None
	}
	return ts.follow(t, scheme, authority)
}

// owns returns whether an authority is that of an endpoint of target t.
func (ts *targets) owns(t int32, scheme, authority []byte) bool {
	for _, e := range ts.all[t].Plan.Endpoints {
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
		e := &t.Plan.Endpoints[0]
		if t.Origin == from && location.SameAuthority(scheme, authority, []byte(e.Scheme), []byte(e.Authority)) {
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
	ts.all = append(ts.all, target{Target: conns.NewTarget(ts.program, &plan, from)})
	ts.all[i].uncredentialed = !origin.FollowWithCredentials
	ts.followed = append(ts.followed, i)
	return i
}

// endFollow notes that the targets that were followed have their connections.
func (ts *targets) endFollow() { ts.followed = ts.followed[:0] }

// addressOf adds the scheme's port where the authority has none (RFC 9110 4.2.1, 4.2.2).
func addressOf(scheme, authority string) string {
	if colon := strings.LastIndexByte(authority, ':'); colon >= 0 && !strings.HasSuffix(authority, "]") {
		return authority
	}
	if scheme == "https" {
		return authority + ":443"
	}
	return authority + ":80"
}
