package result

import (
	"fmt"
	"math"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Needed is how many requests are under way at a time at a rate when each lasts as long as the mean: rate x
// time (Little's law), and three standard deviations of a Poisson number on top, because they do not arrive
// and end evenly.
func Needed(perSecond, meanSeconds float64) int64 {
	n := perSecond * meanSeconds
	return int64(math.Ceil(n + 3*math.Sqrt(n)))
}

// bounds are those that kept requests from being sent.
func (s *sum) bounds(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot, r *runnerv1alpha1.Report) (out []runnerv1alpha1.BoundResult) {
	for i := range plan.Targets {
		if n := dropped(r, runnerv1alpha1.CauseNoStream, plan.Targets[i].Name); n > 0 {
			out = append(out, s.streamBound(plan, snapshots, r, i, n))
		}
	}
	for i := range plan.Chains {
		c := &plan.Chains[i]
		if n := dropped(r, runnerv1alpha1.CauseMaxInFlight, c.Name); n > 0 && c.MaxInFlight > 0 {
			out = append(out, instanceBound(c, r, n))
		}
	}
	return out
}

// dropped counts the requests that were dropped for a cause.
func dropped(r *runnerv1alpha1.Report, cause runnerv1alpha1.Cause, detail string) (n int64) {
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Of == runnerv1alpha1.FailureDropped && f.Cause == cause && f.Detail == detail {
			n += f.Count
		}
	}
	return n
}

func (s *sum) streamBound(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot, r *runnerv1alpha1.Report, target int, n int64) runnerv1alpha1.BoundResult {
	t := &plan.Targets[target]
	streams, isFixed := streamsOf(t, snapshots, target)
	on := s.occupied(plan, target)
	rate := peak(r) * ratio(on.sent+n, r.Requests.Sent+r.Requests.Dropped)
	out := runnerv1alpha1.BoundResult{
		Bound: runnerv1alpha1.BoundStreams, Of: t.Name, Dropped: n,
		Allowed: int64(t.Connections) * streams, Needed: Needed(rate, on.mean),
	}
	if isFixed || t.Protocol == runnerv1alpha1.ProtocolHTTP1 {
		out.Bound = runnerv1alpha1.BoundConnections
	}
	out.Message = fmt.Sprintf("target %s: %d connections of %d streams can hold %d requests at a time; %s requests per second with an average duration of %s need about %d",
		t.Name, t.Connections, streams, out.Allowed, FormatRate(rate), FormatTime(int64(on.mean*1e6)), out.Needed)
	switch {
	case out.Needed <= out.Allowed:
		out.Message += ", so the target stalled, or answered in bursts"
	case on.timedOut > 0 && (on.timedOut*10 >= on.sent || Needed(rate, on.others) <= out.Allowed):
		out.Message += fmt.Sprintf(", because %d of %d requests timed out: the target answers late, or not at all; more connections would hold more requests that wait", on.timedOut, on.sent)
	case out.Bound == runnerv1alpha1.BoundConnections:
		out.Message += fmt.Sprintf(": set connections to %d", above(out.Needed, streams))
	default:
		out.Message += fmt.Sprintf(": set connections to %d, or maxConcurrentStreams to %d",
			above(out.Needed, streams), above(out.Needed, int64(t.Connections)))
	}
	return out
}

// streamsOf is how many requests a connection to a target can hold. isFixed: the peer or maxRequests says so, and not
// maxConcurrentStreams.
func streamsOf(t *runnerv1alpha1.Target, snapshots []runnerv1alpha1.Snapshot, target int) (streams int64, isFixed bool) {
	streams = int64(t.MaxConcurrentStreams)
	if t.Protocol == runnerv1alpha1.ProtocolHTTP1 {
		streams = int64(max(1, t.HTTP1.Pipeline))
	}
	for i := range snapshots {
		if own := snapshots[i].Streams; target < len(own) && own[target] > 0 && own[target] < streams {
			streams, isFixed = own[target], true
		}
	}
	if most := t.Connecting.MaxRequests; most > 0 && most < streams {
		streams, isFixed = most, true
	}
	return max(1, streams), isFixed
}

// occupancy is how many requests to a target were sent and timed out, and for how many seconds a request has occupied a stream on average: mean
// of all requests, and others of those that did not time out.
type occupancy struct {
	sent, timedOut int64
	mean, others   float64
}

func (s *sum) occupied(plan *runnerv1alpha1.Plan, target int) (out occupancy) {
	var ended, us, lost int64
	plan.EachStep(func(i int, _ *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if n := &s.steps[i].counters; step.Target == target {
			out.sent += n.Sent
			out.timedOut += n.TimedOut
			ended += n.Sent - n.InFlightAtEnd
			us += n.OccupiedMicroseconds
			lost += n.TimedOut * step.Timeout.Microseconds()
		}
	})
	out.mean, out.others = ratio(us, ended)/1e6, ratio(max(0, us-lost), ended-out.timedOut)/1e6
	return out
}

// peak is the highest rate that a measured stage asked for.
func peak(r *runnerv1alpha1.Report) (rate float64) {
	for i := range r.Stages {
		if !r.Stages[i].WarmUp {
			rate = max(rate, AskedRequests(&r.Stages[i]))
		}
	}
	return rate
}

// instanceBound compares chains with themselves: they were under way without a break, so as many more as slots
// were refused would have taken them all.
func instanceBound(c *runnerv1alpha1.Chain, r *runnerv1alpha1.Report, n int64) runnerv1alpha1.BoundResult {
	out := runnerv1alpha1.BoundResult{
		Bound: runnerv1alpha1.BoundMaxInFlight, Of: c.Name, Dropped: n, Allowed: int64(c.MaxInFlight), Needed: int64(c.MaxInFlight),
	}
	if sent := r.Requests.Sent; sent > 0 {
		out.Needed = int64(math.Ceil(float64(c.MaxInFlight) * float64(sent+n) / float64(sent)))
	}
	out.Message = fmt.Sprintf("chain %s: maxInFlight is %d, and %d requests were not sent: set it to %d", c.Name, c.MaxInFlight, n, out.Needed)
	return out
}

// above is a / b, rounded up.
func above(a, b int64) int64 {
	if b < 1 {
		return a
	}
	return (a + b - 1) / b
}
