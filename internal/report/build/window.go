package build

import (
	"math"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// window is a window of a report before it is written, so that two can be joined.
type window struct {
	from, to time.Duration
	// name is the stage of the window, "" if none was active. It lasted for inStage of the window.
	name    string
	warmUp  bool
	inStage time.Duration
	// loaded is the end of the last time in the window at which a stage was active; zero: none was.
	loaded time.Duration
	// slots came due; fast: a part was a closed loop.
	slots    float64
	fast     bool
	revision int64
	achieved float64 // requests a second
	counters runnerv1alpha1.Counters
	inFlight int64
	shards   int
	// working is the number of shards with load to send, and paused the number of those that were suspended.
	working, paused int

	responseTime, lag spectrum
	// limit is the longest timeout of the unanswered requests.
	limit int64
}

// add is what a shard has done between two snapshots, without its times.
func (o *window) add(p *looked[watched]) {
	o.revision = max(o.revision, p.last.revision)
	if p.isOver() {
		return // what it has in flight it had at its end
	}
	o.inFlight += p.last.counters.InFlightAtEnd + p.last.counters.WarmUpInFlight
	if p.span() <= 0 {
		return
	}
	if p.base.endedAt == 0 {
		o.working++
		o.paused += one(p.isPaused())
	}
	c := p.last.counters
	c.Add(&p.base.counters, -1)
	o.counters.Add(&c, 1)
	o.shards++
	o.achieved += perSecond(c.Sent+c.WarmUpSent, p.span())
}

// join adds the window that follows.
func (o *window) join(next *window) {
	whole := next.to - o.from
	if whole > 0 {
		o.achieved = (o.achieved*float64(o.to-o.from) + next.achieved*float64(next.to-next.from)) / float64(whole)
	}
	if next.inStage > o.inStage {
		o.inStage, o.name, o.warmUp = next.inStage, next.name, next.warmUp
	}
	if next.loaded > 0 {
		o.loaded = next.loaded
	}
	o.to, o.slots, o.fast = next.to, o.slots+next.slots, o.fast || next.fast
	o.working, o.paused = o.working+next.working, o.paused+next.paused
	o.revision, o.inFlight, o.shards = max(o.revision, next.revision), next.inFlight, max(o.shards, next.shards)
	o.counters.Add(&next.counters, 1)
	o.limit = max(o.limit, next.limit)
	o.responseTime = joined(o.responseTime, next.responseTime)
	o.lag = joined(o.lag, next.lag)
}

func (o *window) figures() runnerv1alpha1.Window {
	c := &o.counters
	out := runnerv1alpha1.Window{
		From: o.from.Milliseconds(), To: o.to.Milliseconds(), Stage: o.name, WarmUp: o.warmUp, Revision: o.revision,
		Suspended: o.paused > 0 && o.paused == o.working,
		Achieved:  cents(o.achieved), Sent: c.Sent + c.WarmUpSent, Succeeded: c.Succeeded + c.WarmUpSucceeded,
		FailedChecks: c.FailedChecks, TimedOut: c.TimedOut, Reset: c.Reset, ConnectionLost: c.ConnectionLost,
		Dropped:  c.Dropped,
		InFlight: o.inFlight, Connects: c.Connects, Shards: o.shards,
	}
	if lasts := o.to - o.from; lasts > 0 && !o.fast {
		out.Asked = cents(o.slots / lasts.Seconds())
	}
	responseTime := o.responseTime.histogram()
	responseTime.AddUnanswered(o.unanswered(), o.limit)
	t := responseTime.Times()
	out.ResponseTime = runnerv1alpha1.WindowTimes{Count: t.Count, Unanswered: t.Unanswered, P50: t.P50, P90: t.P90,
		P99: t.P99, Max: t.Max}
	out.LagP99 = o.lag.histogram().Quantile(0.99)
	return out
}

// cents rounds a rate to two decimals.
func cents(v float64) float64 { return math.Round(v*100) / 100 }

// unanswered is how many requests ended without a response.
func (o *window) unanswered() int64 {
	c := &o.counters
	return c.TimedOut + c.Reset + c.ConnectionLost + c.Dropped
}
