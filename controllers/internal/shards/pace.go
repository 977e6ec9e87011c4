package shards

import "time"

// spread returns the time until the next regular poll of a runner. If there are many runners, each has its own part of the
// interval, so that the operator does not poll all of them at the same time.
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
