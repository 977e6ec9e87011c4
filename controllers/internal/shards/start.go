package shards

import (
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// startNow: a runner that is ready may start. The time of the start is chosen once, for all runners, when the start is
// decided and every member is ready or has ended. If some runners know a time already, the others get the same.
func (g *Group) startNow() bool {
	if !g.d.MayStart {
		return false
	}
	g.findStart()
	if g.startAt != 0 {
		return true
	}
	if !g.canBegin() {
		return false
	}
	g.startAt = g.clock() + int64(g.opts.Lead)
	g.note(nil, "Starting runners", "shards", g.changes.newest().Members, "lead", g.opts.Lead)
	return true
}

// findStart takes the start instant over from a runner that knows it.
func (g *Group) findStart() {
	for _, s := range g.runners {
		if g.startAt == 0 && s.knowsStart() && s.clock.RTT > 0 {
			g.startAt = s.snapshot.StartAt + s.clock.Offset
		}
	}
}

// canBegin: each member is ready or has ended, and at least one is ready. A runner that this process did not ask yet could know the start.
func (g *Group) canBegin() bool {
	if slices.ContainsFunc(g.runners, func(s *runner) bool {
		return s.pod.Address != "" && !s.pod.Ended && s.snapshot == nil && s.trouble == ""
	}) {
		return false
	}
	ready := 0
	for _, i := range g.changes.newest().Members {
		switch s := g.at(i); {
		case g.ready(s):
			ready++
		case !s.state.Over() && !s.final():
			return false
		}
	}
	return ready > 0
}

// allReady: every member is ready. A runner that has ended is not ready, for example one whose setup failed.
func (g *Group) allReady() bool {
	return !slices.ContainsFunc(g.changes.newest().Members, func(i int) bool { return !g.ready(g.at(i)) })
}

// ready: the runner has the share that it begins with, and all connections, or is past that.
func (g *Group) ready(s *runner) bool {
	return !s.state.Over() && s.snapshot != nil && isReady(s.snapshot) && s.snapshot.Revision >= g.changes.beforeStart().Revision
}

// globals are what setup captured, on the shard that ran it.
func (g *Group) globals() []string {
	for _, s := range g.runners {
		if s.globals != nil {
			return s.globals
		}
	}
	return nil
}

// allDrained: no runner has a request of the load in flight any more, so that teardown may begin.
func (g *Group) allDrained() bool {
	for _, s := range g.runners {
		if (s.member || s.knowsStart()) && !s.state.Over() && !s.final() && (s.snapshot == nil || s.snapshot.State != runnerv1alpha1.StateDrained) {
			return false
		}
	}
	return true
}
