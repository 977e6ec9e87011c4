package shards

import "time"

// spread returns the time until the next regular poll of a runner. If there are many runners, each has its own part of the
// interval, so that the operator does not poll all of them at the same time.
func (g *Group) spread(index int) time.Duration {
	interval := g.m.Pace.Regular
	if interval <= g.m.Pace.Least || len(g.runners) == 0 {
		return interval
	}
	since := g.now.Sub(g.zero)
	next := since.Truncate(interval) + interval*time.Duration(index)/time.Duration(len(g.runners))
	for next < since+interval/2 {
		next += interval
	}
	return next - since
}

// again returns when to poll a runner that did not answer: after the least interval, even if there are many runners.
func (g *Group) again(planned time.Time) time.Time {
	if soon := g.now.Add(g.m.Pace.Least); soon.Before(planned) {
		return soon
	}
	return planned
}

// silentAfter returns how long a runner does not answer until it is silent. It is longer if there are many runners, so that one
// poll without an answer does not make a runner silent. With the default times of an operator it is 5 to 7 seconds.
func (g *Group) silentAfter() time.Duration {
	return max(silentAfter, g.m.Pace.Regular+2*g.opts.Timeout)
}
