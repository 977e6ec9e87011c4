package shards

import "slices"

// startNow: a runner that is ready may start. The time of the start is chosen once, for all runners, when the start is
// decided and every member is ready or has ended. If some runners know a time already, the others get the same.
func (g *Group) startNow() bool {
	if g.d.Record.Start == nil {
		return false
	}
	if g.startAt == 0 {
		g.startAt = g.runners.start()
	}
	if g.startAt != 0 {
		return true
	}
	if !g.runners.canBegin(&g.changes) {
		return false
	}
	g.startAt = g.clock() + int64(g.opts.Lead)
	g.note(nil, "Starting runners", "shards", g.changes.newest().Members, "lead", g.opts.Lead)
	return true
}

// canBegin: each member is ready or has ended, and at least one is ready. A runner that this process did not ask yet
// could know the start.
func (l runners) canBegin(c *changes) bool {
	if slices.ContainsFunc(l, func(s *runner) bool {
		return s.pod.Address != "" && !s.pod.Ended && s.snapshot == nil && s.trouble == ""
	}) {
		return false
	}
	ready := 0
	for _, i := range c.newest().Members {
		switch s := l[i]; {
		case s.ready(c):
			ready++
		case !s.state.Over() && !s.final():
			return false
		}
	}
	return ready > 0
}

// allReady: every member is ready. A runner that has ended is not ready, for example one whose setup failed.
func (l runners) allReady(c *changes) bool {
	return !slices.ContainsFunc(c.newest().Members, func(i int) bool { return !l[i].ready(c) })
}

// ready: the runner has the share that it begins with, and all connections, or is past that.
func (s *runner) ready(c *changes) bool {
	return !s.state.Over() && s.snapshot != nil && isReady(s.snapshot) && s.snapshot.Revision >= c.beforeStart().Revision
}
