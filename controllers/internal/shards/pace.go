package shards

import (
	"slices"
	"time"
)

// spread returns the time until the next regular poll of a runner. If there are many runners, each has its own part of
// the interval, so that the operator does not poll all of them at the same time.
func (p Pace) spread(since time.Duration, index, runners int) time.Duration {
	interval := p.Regular
	if interval <= p.Least || runners == 0 {
		return interval
	}
	next := since.Truncate(interval) + interval*time.Duration(index)/time.Duration(runners)
	for next < since+interval/2 {
		next += interval
	}
	return next - since
}

// again returns when to poll a runner that did not answer: after the least interval, even if there are many runners.
func (p Pace) again(planned, now time.Time) time.Time {
	if soon := now.Add(p.Least); soon.Before(planned) {
		return soon
	}
	return planned
}

// interval is the time between two polls of a runner.
func (s *runner) interval(m *round) time.Duration {
	frequency, since := s.behaviour().Poll, time.Duration(m.clock)
	switch {
	case s.silent:
		frequency = Plain
	case frequency == Regular && s.hurries(m):
		frequency = Hurried
	case s.snapshot == nil && s.trouble != "" && frequency == Hurried && since > time.Minute:
		frequency = Regular // a container whose endpoint does not listen yet refuses connections
	}
	switch frequency {
	case Plain:
		return m.Pace.Least
	case Regular:
		return m.Pace.spread(since, s.index, m.runners)
	}
	return m.Pace.Hurried
}

// hurries: a runner that works will soon report something else, because it must stop or join, or has a change to get.
func (s *runner) hurries(m *round) bool {
	return m.d.Record.Stop != nil || s.pod.Terminating || m.probeOver || m.change || !slices.Contains(m.members, s.index)
}
