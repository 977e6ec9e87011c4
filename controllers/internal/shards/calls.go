package shards

import (
	"slices"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// roundEvery bounds how often a run looks at all its runners when nothing happened to them.
	roundEvery = 25 * time.Millisecond
	// fullDetail is how many steps on all shards a test can have whose live snapshots have the response times of steps. A response time
	// has some kilobytes.
	fullDetail = 256
	// reasonTooLate is told to runners that were on their way when the test ended.
	reasonTooLate = "the test is over"
)

// facts are what the calls of a round depend on beside their runners.
func (g *Group) facts() round {
	m := round{d: &g.d, start: g.startNow(), drained: g.runners.drained()}
	for s := range g.all() {
		m.watch = m.watch || s.silent
	}
	return m
}

// calls returns the calls that are due, the number of runners that are polled, and the time until the next call.
func (g *Group) calls(m round) (out []Call, polled int, wait time.Duration) {
	wait = g.m.Pace.Least
	if g.proposal != nil {
		wait = min(wait, proposalLife/2)
	}
	for s := range g.all() {
		if !s.final() && s.pod.Address != "" {
			polled++
		}
		if s.pollAt.After(g.now) {
			wait = min(wait, s.pollAt.Sub(g.now))
			continue
		}
		m.change = g.pending(s) != nil
		if kind := s.next(&m); kind != CallNone {
			s.calling = kind
			out = append(out, g.call(s, kind))
		}
		after := g.interval(s)
		s.pollAt = g.now.Add(after)
		wait = min(wait, after)
	}
	return out, polled, wait
}

// call returns the call with which a runner gets a message.
func (g *Group) call(s *runner, kind Kind) Call {
	c := Call{
		ID: s.id(), Address: s.pod.Address, Kind: kind,
		Totals: len(g.runners)*g.steps > fullDetail && !g.probeIsOver(), Lease: g.lease(s),
	}
	switch kind {
	case CallUpdate:
		c.Update = g.update(s)
	case CallStart:
		c.Start = runnerv1alpha1.Start{At: g.startAt, Globals: g.runners.globals(), Changes: g.changes.missed(s.snapshot.Revision)}
	case CallStop:
		c.Stop = runnerv1alpha1.Stop{Reason: reasonTooLate, Drain: true}
		if stop := g.d.Record.Stop; stop != nil && g.d.Record.End == nil {
			c.Stop.Reason = stop.Reason
		}
	case CallAck:
		c.Ack.Sequence = s.snapshot.Sequence
	}
	return c
}

// interval is the time between two polls of a runner.
func (g *Group) interval(s *runner) time.Duration {
	frequency := s.behaviour().Poll
	switch {
	case s.silent:
		frequency = Plain
	case frequency == Regular && g.hurries(s):
		frequency = Hurried
	case s.snapshot == nil && s.trouble != "" && frequency == Hurried && g.now.Sub(g.zero) > time.Minute:
		frequency = Regular // a container whose endpoint does not listen yet refuses connections
	}
	switch frequency {
	case Plain:
		return g.m.Pace.Least
	case Regular:
		return g.m.Pace.spread(g.now.Sub(g.zero), s.index, len(g.runners))
	}
	return g.m.Pace.Hurried
}

// hurries: a runner that works will soon report something else, because it must stop or join, or has a change to get.
func (g *Group) hurries(s *runner) bool {
	return g.d.Record.Stop != nil || s.pod.Terminating || g.probeIsOver() || g.pending(s) != nil || !slices.Contains(g.changes.newest().Members, s.index)
}
