package build

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

// bounds are those that kept requests from being sent, or made them wait longer and longer.
func (s *sum) bounds(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot,
	r *runnerv1alpha1.Report) (out []runnerv1alpha1.BoundResult) {
	for i := range plan.Targets {
		if l := s.streamLoad(plan, snapshots, r, i); l.isBound() {
			out = append(out, l.result())
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

// streamLoad compares what the connections to a target carry with what the rate asked for needs.
type streamLoad struct {
	target *runnerv1alpha1.Target
	// streams is how many requests a connection can hold. isFixed: maxConcurrentStreams does not decide that.
	streams          int64
	isFixed, isHTTP1 bool
	// rate is the highest rate that the test asks of the target. dropped requests found no stream.
	rate    float64
	on      occupancy
	dropped int64
}

func (s *sum) streamLoad(plan *runnerv1alpha1.Plan, snapshots []runnerv1alpha1.Snapshot, r *runnerv1alpha1.Report,
	target int) *streamLoad {
	t := &plan.Targets[target]
	out := &streamLoad{target: t, isHTTP1: isHTTP1(t, snapshots, target), on: s.occupied(plan, target),
		dropped: dropped(r, runnerv1alpha1.CauseNoStream, t.Name)}
	out.streams, out.isFixed = streamsOf(t, snapshots, target)
	out.rate = peak(r) * ratio(out.on.sent+out.dropped, r.Requests.Sent+r.Requests.Dropped)
	return out
}

// isHTTP1 returns whether all connections to a target speak HTTP/1.1, as far as plan and snapshots say.
func isHTTP1(t *runnerv1alpha1.Target, snapshots []runnerv1alpha1.Snapshot, target int) bool {
	found := t.Protocol == runnerv1alpha1.ProtocolHTTP1
	for i := range snapshots {
		for k := range t.Endpoints {
			switch snapshots[i].Found(target, k).Protocol {
			case "":
			case runnerv1alpha1.ProtocolHTTP1:
				found = true
			default:
				return false
			}
		}
	}
	return found
}

func (l *streamLoad) allowed() int64 { return int64(l.target.Connections) * l.streams }

// isBound returns whether requests were dropped, or must wait longer and longer: over HTTP/1.1, the rate needs more
// than the connections carry. With HTTP/2, a few connections can have fewer streams than the others.
func (l *streamLoad) isBound() bool {
	return l.dropped > 0 || l.isHTTP1 && l.rate*l.on.mean > float64(l.allowed())
}

func (l *streamLoad) result() runnerv1alpha1.BoundResult {
	out := runnerv1alpha1.BoundResult{
		Bound: runnerv1alpha1.BoundStreams, Of: l.target.Name, Dropped: l.dropped, Allowed: l.allowed(),
		Needed: Needed(l.rate, l.on.mean),
	}
	if l.isFixed || l.isHTTP1 {
		out.Bound = runnerv1alpha1.BoundConnections
	}
	out.Message = fmt.Sprintf("target %s: %s need about %d", l.target.Name, l.compared(), out.Needed)
	switch {
	case out.Needed <= out.Allowed:
		out.Message += ", so the target stalled, or answered in bursts"
	case l.on.timedOut > 0 && (l.on.timedOut*10 >= l.on.sent || Needed(l.rate, l.on.others) <= out.Allowed):
		out.Message += fmt.Sprintf(", because %d of %d requests timed out: the target answers late, or not at all; more connections would hold more requests that wait", l.on.timedOut, l.on.sent)
	case out.Bound == runnerv1alpha1.BoundConnections:
		out.Message += fmt.Sprintf(": %s%d", AdviceConnections, above(out.Needed, l.streams))
	default:
		out.Message += fmt.Sprintf(": %s%d%s%d", AdviceConnections, above(out.Needed, l.streams), AdviceStreams,
			above(out.Needed, int64(l.target.Connections)))
	}
	return out
}

// AdviceConnections and AdviceStreams are followed by the numbers that a message recommends. The command line writes
// its own flags instead.
const (
	AdviceConnections = "set connections to "
	AdviceStreams     = ", or maxConcurrentStreams to "
)

// compared names what the connections carry and the rate asked for. With HTTP/1.1, it has the rate that they carry.
func (l *streamLoad) compared() string {
	asked, took := FormatRate(l.rate), FormatTime(int64(l.on.mean*1e6))
	if l.isHTTP1 && l.on.mean > 0 {
		return fmt.Sprintf("over HTTP/1.1, %s, which is %s requests per second with an average duration of %s; %s requests per second",
			Carry(l.target.Connections, l.allowed()), FormatRate(float64(l.allowed())/l.on.mean), took, asked)
	}
	return fmt.Sprintf("%d connections of %d streams can hold %d requests at a time; %s requests per second with an average duration of %s",
		l.target.Connections, l.streams, l.allowed(), asked, took)
}

// Carry names how many requests connections carry at a time.
func Carry(connections int, requests int64) string {
	carry, what := fmt.Sprintf("%d connections carry", connections), "requests"
	if connections == 1 {
		carry = "1 connection carries"
	}
	if requests == 1 {
		what = "request"
	}
	return fmt.Sprintf("%s %d %s at a time", carry, requests, what)
}

// streamsOf is how many requests a connection to a target can hold. isFixed: the peer or maxRequests says so, and not
// maxConcurrentStreams.
func streamsOf(t *runnerv1alpha1.Target, snapshots []runnerv1alpha1.Snapshot, target int) (streams int64,
	isFixed bool) {
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

// occupancy is how many requests to a target were sent and timed out, and for how many seconds a request has occupied
// a stream on average: mean of all requests, and others of those that did not time out.
type occupancy struct {
	sent, timedOut int64
	mean, others   float64
}

func (s *sum) occupied(plan *runnerv1alpha1.Plan, target int) (out occupancy) {
	var ended, us, lost int64
	plan.EachStep(func(i int, _ *runnerv1alpha1.Chain, step *runnerv1alpha1.Step) {
		if n := &s.counts.Steps[i]; step.Target == target {
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
		Bound: runnerv1alpha1.BoundMaxInFlight, Of: c.Name, Dropped: n, Allowed: int64(c.MaxInFlight),
		Needed: int64(c.MaxInFlight),
	}
	if sent := r.Requests.Sent; sent > 0 {
		out.Needed = int64(math.Ceil(float64(c.MaxInFlight) * float64(sent+n) / float64(sent)))
	}
	out.Message = fmt.Sprintf("chain %s: maxInFlight is %d, and %d requests were not sent: set it to %d", c.Name,
		c.MaxInFlight, n, out.Needed)
	return out
}

// above is a / b, rounded up.
func above(a, b int64) int64 {
	if b < 1 {
		return a
	}
	return (a + b - 1) / b
}
