package result

import (
	"math"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// window is one with what it takes to merge it with another.
type window struct {
	from, to time.Duration
	// stage is an index into the plan's rates, -1: none; it lasted for inStage of the window.
	stage   int
	inStage time.Duration
	name    string
	warmUp  bool
	// loaded is the end of the last time in the window at which a stage was active; zero: none was.
	loaded time.Duration
	// slots came due; fast: a part was a closed loop.
	slots    float64
	fast     bool
	revision int64
	achieved float64 // requests a second
	counters tally
	inFlight int64
	shards   int
	// working shards had load to send; paused are those of them that did not because they were suspended.
	working, paused int

	responseTime, lag spectrum
	// limit is the longest timeout of the unanswered requests.
	limit int64
}

// add is what a shard has done between two snapshots, without its times.
func (o *window) add(p *watched) {
	o.revision = max(o.revision, p.last.Revision)
	if p.over() {
		return // what it has in flight it had at its end
	}
	o.inFlight += p.last.Counters.InFlightAtEnd + p.last.Counters.WarmUpInFlight
	if p.span() <= 0 {
		return
	}
	if p.base.EndedAt == 0 {
		o.working++
		o.paused += one(p.paused())
	}
	c := since(&p.last.Counters, &p.base.Counters)
	o.counters.add(&c)
	o.shards++
	o.achieved += perSecond(c.sent, p.span())
}

// join adds the window that follows.
func (o *window) join(next *window) {
	whole := next.to - o.from
	if whole > 0 {
		o.achieved = (o.achieved*float64(o.to-o.from) + next.achieved*float64(next.to-next.from)) / float64(whole)
	}
	if next.inStage > o.inStage {
		o.stage, o.inStage, o.name, o.warmUp = next.stage, next.inStage, next.name, next.warmUp
	}
	if next.loaded > 0 {
		o.loaded = next.loaded
	}
	o.to, o.slots, o.fast = next.to, o.slots+next.slots, o.fast || next.fast
	o.working, o.paused = o.working+next.working, o.paused+next.paused
	o.revision, o.inFlight, o.shards = max(o.revision, next.revision), next.inFlight, max(o.shards, next.shards)
	o.counters.add(&next.counters)
	o.limit = max(o.limit, next.limit)
	o.responseTime = joined(o.responseTime, next.responseTime)
	o.lag = joined(o.lag, next.lag)
}

func (o *window) figures() runnerv1alpha1.Window {
	out := runnerv1alpha1.Window{
		From: o.from.Milliseconds(), To: o.to.Milliseconds(), Stage: o.name, WarmUp: o.warmUp, Revision: o.revision,
		Suspended: o.paused > 0 && o.paused == o.working,
		Achieved:  cents(o.achieved), Sent: o.counters.sent, Succeeded: o.counters.succeeded,
		FailedChecks: o.counters.failedChecks, TimedOut: o.counters.timedOut, Reset: o.counters.reset,
		ConnectionLost: o.counters.connectionLost, Dropped: o.counters.dropped,
		InFlight: o.inFlight, Connects: o.counters.connects, Shards: o.shards,
	}
	if lasts := o.to - o.from; lasts > 0 && !o.fast {
		out.Asked = cents(o.slots / lasts.Seconds())
	}
	responseTime := o.responseTime.histogram()
	responseTime.AddUnanswered(o.counters.unanswered(), o.limit)
	t := responseTime.Times()
	out.ResponseTime = runnerv1alpha1.WindowTimes{Count: t.Count, Unanswered: t.Unanswered, P50: t.P50, P90: t.P90, P99: t.P99, Max: t.Max}
	out.LagP99 = o.lag.histogram().Quantile(0.99)
	return out
}

// cents: more digits of a rate say nothing.
func cents(v float64) float64 { return math.Round(v*100) / 100 }

// tally is what a window counts.
type tally struct {
	sent, succeeded, failedChecks, timedOut, reset, connectionLost, dropped, connects int64
}

func since(now, base *runnerv1alpha1.Counters) tally {
	return tally{
		sent:           now.Sent + now.WarmUpSent - base.Sent - base.WarmUpSent,
		succeeded:      now.Succeeded + now.WarmUpSucceeded - base.Succeeded - base.WarmUpSucceeded,
		failedChecks:   now.FailedChecks - base.FailedChecks,
		timedOut:       now.TimedOut - base.TimedOut,
		reset:          now.Reset - base.Reset,
		connectionLost: now.ConnectionLost - base.ConnectionLost,
		dropped:        now.Dropped - base.Dropped,
		connects:       now.Connects - base.Connects,
	}
}

// unanswered is how many requests ended without a response.
func (t *tally) unanswered() int64 { return t.timedOut + t.reset + t.connectionLost + t.dropped }

func (t *tally) add(other *tally) {
	t.sent += other.sent
	t.succeeded += other.succeeded
	t.failedChecks += other.failedChecks
	t.timedOut += other.timedOut
	t.reset += other.reset
	t.connectionLost += other.connectionLost
	t.dropped += other.dropped
	t.connects += other.connects
}
