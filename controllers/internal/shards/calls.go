package shards

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

const (
	// roundEvery bounds how often a run looks at all its runners when nothing happened to them.
	roundEvery = 25 * time.Millisecond
	// fullDetail is how many steps on all shards a test can have whose live snapshots have the response times of steps. A
	// response time has some kilobytes.
	fullDetail = 256
	// reasonTooLate is told to runners that were on their way when the test ended.
	reasonTooLate = "the test is over"
)

// calls returns the calls that are due, the number of runners that are polled, and the time until the next call.
func (g *Group) calls(m *round) (out []Call, polled int, wait time.Duration) {
	wait = m.Pace.Least
	if g.proposal != nil {
		wait = min(wait, proposalLife/2)
	}
	for _, s := range g.all() {
		if !s.final() && s.pod.Address != "" {
			polled++
		}
		if s.pollAt.After(g.now) {
			wait = min(wait, s.pollAt.Sub(g.now))
			continue
		}
		m.change = s.pending(&g.changes) != nil
		if kind := s.next(m); kind != CallNone {
			s.calling = kind
			out = append(out, g.call(s, kind, m))
		}
		after := s.interval(m)
		s.pollAt = g.now.Add(after)
		wait = min(wait, after)
	}
	return out, polled, wait
}

// call returns the call with which a runner gets a message.
func (g *Group) call(s *runner, kind Kind, m *round) Call {
	c := Call{
		ID: s.id(), Address: s.pod.Address, Kind: kind,
		Totals: len(g.runners)*g.steps > fullDetail && !m.probeOver, Lease: s.lease(m), Observe: m.observe(s),
	}
	switch kind {
	case CallUpdate:
		c.Update = g.members.update(s)
	case CallStart:
		c.Start = runnerv1alpha1.Start{At: g.startAt, Globals: g.runners.globals(),
			Changes: g.changes.missed(s.snapshot.Revision)}
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
