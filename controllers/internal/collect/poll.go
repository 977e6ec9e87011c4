package collect

import (
	"sync/atomic"
	"time"
)

const (
	// pollsPerSecond bounds the polls of all runners that work, of all runs.
	pollsPerSecond = 700
	// maxPollInterval bounds the time between two polls of a runner, so that status is never older than a few seconds and a lease
	// is renewed in time.
	maxPollInterval = 3 * time.Second
	// hurriedPollsPerSecond and maxHurry are the same for runners that have no load to send yet, or no more: their snapshots are small.
	hurriedPollsPerSecond = 2000
	maxHurry              = time.Second
	// maxLarge is the number of large snapshots that an operator has in memory at the same time: the final one of 256 steps has some 2 MB.
	maxLarge = 8
)

// load counts the runners that an operator polls.
type load struct {
	runners atomic.Int64
	large   chan struct{} // see request
}

// interval returns the time between two polls of a runner: least, and more if there are many runners. For example, with a
// least of 1 s it is 1 s for 700 runners, and 2 s for 1400.
func (l *load) interval(least time.Duration) time.Duration {
	wanted := time.Duration(l.runners.Load()) * time.Second / pollsPerSecond
	return max(least, min(wanted, maxPollInterval))
}

// countRunners tells the load how many runners of the run are polled.
func (r *run) countRunners(n int64) {
	if r.load != nil {
		r.load.runners.Add(n - r.counted)
		r.counted = n
	}
}

// regular returns the time between two polls of a runner that works.
func (r *run) regular() time.Duration {
	if r.load == nil {
		return r.opts.Interval
	}
	return r.load.interval(r.opts.Interval)
}

// hurry returns the time between two polls of a runner that has no load to send: 100 ms for up to 200 runners, a second for 2000.
func (r *run) hurry() time.Duration {
	if r.load == nil {
		return hurry
	}
	return max(hurry, min(time.Duration(r.load.runners.Load())*time.Second/hurriedPollsPerSecond, maxHurry))
}

// spread returns the time until the next regular poll of a runner. If there are many runners, each has its own part of the
// interval, so that the operator does not poll all of them at the same time.
func (r *run) spread(index int, now time.Time) time.Duration {
	interval := r.regular()
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
	return max(silentAfter, r.regular()+2*r.opts.Timeout)
}
