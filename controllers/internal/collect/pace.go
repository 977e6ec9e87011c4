package collect

import "time"

// countRunners tells the load how many runners of the run are polled.
func (r *run) countRunners(n int) {
	r.load.Count(n - r.counted)
	r.counted = n
}

// spread returns the time until the next regular poll of a runner. If there are many runners, each has its own part of the
// interval, so that the operator does not poll all of them at the same time.
func (r *run) spread(index int, now time.Time) time.Duration {
	interval := r.pace.Regular
	if interval <= r.opts.Interval || len(r.shards) == 0 {
		return interval
	}
	since := now.Sub(r.zero)
	next := since.Truncate(interval) + interval*time.Duration(index)/time.Duration(len(r.shards))
	for next < since+interval/2 {
		next += interval
	}
	return next - since
}

// again returns when to poll a runner that did not answer: after the least interval, even if there are many runners.
func (r *run) again(planned, now time.Time) time.Time {
	if soon := now.Add(r.opts.Interval); soon.Before(planned) {
		return soon
	}
	return planned
}

// silentAfter returns how long a runner does not answer until it is silent. It is longer if there are many runners, so that one
// poll without an answer does not make a runner silent. With the default times of an operator it is 5 to 7 seconds.
func (r *run) silentAfter() time.Duration {
	return max(silentAfter, r.pace.Regular+2*r.opts.Timeout)
}
