package loop

import (
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/chain"
	"github.com/h2surge/h2surge/runner/location"
)

// maxFollowed bounds the authorities that a worker connects to because a captured URI names
// them; each costs connections.
const maxFollowed = 64

// route is the target of an instance's step: that of the plan, or another authority that the URI
// that its path begins with is on. None: that authority cannot be connected to.
func (w *Worker) route(in *instance, s *chain.Step) int32 {
	t := int32(s.Target)
	if !s.BeginsWithURI || !w.targets[t].plan.FollowAuthority {
		return t
	}
	scheme, authority, ok := in.Authority(s)
	if !ok {
		return t
	}
	for _, e := range w.targets[t].plan.Endpoints {
		if location.SameAuthority(scheme, authority, []byte(e.Scheme), []byte(e.Authority)) {
			return t
		}
	}
	return w.follow(t, scheme, authority)
}

// follow finds or makes the target for an authority. It is like the one it was come from in all else.
func (w *Worker) follow(from int32, scheme, authority []byte) int32 {
	planned := len(w.program.Targets)
	for i := planned; i < len(w.targets); i++ {
		t := &w.targets[i]
		e := &t.plan.Endpoints[0]
		if t.origin == from && location.SameAuthority(scheme, authority, []byte(e.Scheme), []byte(e.Authority)) {
			return int32(i)
		}
	}
	origin := &w.program.Targets[from]
	if len(w.targets)-planned == maxFollowed || (string(scheme) == "https") != (origin.TLS != nil) {
		return none
	}
	plan := *origin
	e := rv.Endpoint{Scheme: string(scheme), Authority: string(authority)}
	e.Address = addressOf(e.Scheme, e.Authority)
	plan.Endpoints = []rv.Endpoint{e}
	i := int32(len(w.targets))
	w.targets = append(w.targets, w.newTarget(&plan, from)) // never moves: New made room
	w.targets[i].serves = func(int) bool { return false }
	w.followed = append(w.followed, i)
	return i
}

// connectFollowed opens the connections to the authorities that this turn has come across. New
// connections may move all records, so that it waits until nothing is being parsed.
func (w *Worker) connectFollowed() {
	for _, i := range w.followed {
		from := w.targets[i].origin
		for k := range w.cfg.Share.Connections[from] {
			w.openPlace(i, int32(w.cfg.Share.FirstConnection[from]+k), false)
		}
	}
	w.followed = w.followed[:0]
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
