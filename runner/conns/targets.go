package conns

import (
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/location"
)

// Targets are those of the plan, then those that are followed. The slice does not move, because it has the capacity for
// all.
type Targets struct {
	program *chain.Program
	all     []Target
	// opened is how many of them have their connections.
	opened int
	// scheme and authority are for the duration of one call.
	scheme, authority []byte
}

// MaxFollowed bounds the authorities that a worker connects to because a captured URI names
// them; each costs connections.
const MaxFollowed = 64

// NewTargets returns the targets of a program.
func NewTargets(p *chain.Program) Targets {
	ts := Targets{program: p, all: make([]Target, len(p.Targets), len(p.Targets)+MaxFollowed)}
	for i := range p.Targets {
		ts.all[i] = newTarget(p, &p.Targets[i], int32(i))
	}
	return ts
}

// Len returns how many targets there are.
func (ts *Targets) Len() int { return len(ts.all) }

// At returns a target.
func (ts *Targets) At(i int32) *Target { return &ts.all[i] }

// Route is the target of an instance's step: that of the plan, or another authority that its request names, or the URI
// that its path begins with. It returns ok false if that authority cannot be connected to.
func (ts *Targets) Route(in *chain.Instance, s *chain.Step) (target int32, ok bool) {
	t := int32(s.Target)
	if s.HasAuthority {
		return ts.named(t, in, s)
	}
	if !s.BeginsWithURI || !ts.all[t].Plan.FollowAuthority {
		return t, true
	}
	scheme, authority, ok := in.Authority(s)
	if !ok {
		return t, true
	}
	return ts.Of(t, scheme, authority)
}

// named returns the target for the host and port that a request names. It returns ok false if they are not valid or too
// many others were followed.
func (ts *Targets) named(t int32, in *chain.Instance, s *chain.Step) (target int32, ok bool) {
	ts.authority = in.AppendAuthority(ts.authority[:0], s)
	authority, err := location.ParseAuthority(ts.authority)
	if err != nil {
		return 0, false
	}
	ts.scheme = append(ts.scheme[:0], ts.all[t].Plan.Endpoints[0].Scheme...)
	return ts.Of(t, ts.scheme, authority)
}

// Of returns the target for an authority that a URI names in an exchange with target t: t itself, or else the
// target that follows the authority. It returns ok false if that authority cannot be connected to, or t does not follow
// authorities.
func (ts *Targets) Of(t int32, scheme, authority []byte) (target int32, ok bool) {
	if ts.Owns(t, scheme, authority) {
		return t, true
	}
	if !ts.all[t].Plan.FollowAuthority {
		return 0, false
	}
	return ts.follow(t, scheme, authority)
}

// Owns returns whether an authority is that of an endpoint of target t.
func (ts *Targets) Owns(t int32, scheme, authority []byte) bool {
	for _, e := range ts.all[t].Plan.Endpoints {
		if location.SameAuthority(scheme, authority, []byte(e.Scheme), []byte(e.Authority)) {
			return true
		}
	}
	return false
}

// follow finds or makes the target for an authority. In all else it is like the one that it is followed from.
func (ts *Targets) follow(from int32, scheme, authority []byte) (target int32, ok bool) {
	planned := len(ts.program.Targets)
	for i := planned; i < len(ts.all); i++ {
		t := &ts.all[i]
		e := &t.Plan.Endpoints[0]
		if t.Origin == from && location.SameAuthority(scheme, authority, []byte(e.Scheme), []byte(e.Authority)) {
			return int32(i), true
		}
	}
	origin := &ts.program.Targets[from]
	if len(ts.all)-planned == MaxFollowed || (string(scheme) == "https") != (origin.TLS != nil) {
		return 0, false
	}
	plan := *origin
	e := rv.Endpoint{Scheme: string(scheme), Authority: string(authority)}
	e.Address = addressOf(e.Scheme, e.Authority)
	plan.Endpoints = []rv.Endpoint{e}
	i := int32(len(ts.all))
	ts.all = append(ts.all, newTarget(ts.program, &plan, from))
	ts.all[i].Uncredentialed = !origin.FollowWithCredentials
	return i, true
}

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
