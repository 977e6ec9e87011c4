package compile

import (
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// unansweredShare is the share of unanswered requests that a test should be able to hold: the default limit
// on the error rate.
const unansweredShare = 0.01

// capacity warns of targets whose streams cannot hold the requests of the highest rate if a small share of
// them is unanswered until the timeout. By Little's law that takes rate x timeout x share streams.
func (c *compiler) capacity() {
	c.concurrency()
	var rate float64
	for i := range c.plan.Rates {
		r := &c.plan.Rates[i]
		if r.ClosedLoop || r.Period <= 0 {
			continue
		}
		requests := float64(r.Count) / r.Period.Seconds()
		if r.ChainsPerSecond {
			requests *= c.requestsPerInstance()
		}
		rate = max(rate, requests)
	}
	for i, share := range c.shares() {
		t := &c.plan.Targets[i]
		streams := streamsOf(t)
		open := rate * share.timeouts
		if need := open * unansweredShare; need > float64(streams) {
			c.warn(specPath.Child("targets").Index(i).Child("connections"),
				"%.0f requests a second leave no free stream as soon as %.2g %% of them are unanswered until their timeout of %v: all connections together hold %d requests, and 1 %% unanswered ones take %.0f; raise connections or maxConcurrentStreams, or lower the timeout",
				rate*share.requests, 100*float64(streams)/open, share.timeout().Round(time.Millisecond), streams, need)
		}
	}
}

// concurrency warns of closed loops with more requests in flight than all streams can carry.
func (c *compiler) concurrency() {
	streams := 0
	for i, share := range c.shares() {
		if share.requests > 0 {
			streams += streamsOf(&c.plan.Targets[i])
		}
	}
	for i := range c.plan.Rates {
		if r := &c.plan.Rates[i]; r.ClosedLoop && r.Count > int64(streams) {
			c.warn(specPath.Child("rates").Index(i).Child("closedLoop", "concurrency"),
				"the connections of all targets together carry %d requests at a time, so %d of %d requests wait for a stream; raise connections or maxConcurrentStreams",
				streams, r.Count-int64(streams), r.Count)
		}
	}
}

// streamsOf returns how many requests all connections to a target carry at a time.
func streamsOf(t *runnerv1alpha1.Target) int {
	if t.Protocol == runnerv1alpha1.ProtocolHTTP1 {
		return t.Connections * max(1, t.HTTP1.Pipeline)
	}
	return t.Connections * t.MaxConcurrentStreams
}

// requestsPerInstance returns how many requests an instance sends, on average over the chains of the load.
func (c *compiler) requestsPerInstance() float64 {
	var requests, weights int64
	for i := range c.plan.Chains {
		if chain := &c.plan.Chains[i]; chain.Phase == runnerv1alpha1.PhaseLoad {
			requests += int64(chain.Weight) * requestsOf(chain)
			weights += int64(chain.Weight)
		}
	}
	return float64(requests) / float64(max(weights, 1))
}

// targetShare is what goes to a target for each request of the load.
type targetShare struct {
	// requests are 1 when all go to the target; timeouts are their timeouts, in seconds.
	requests, timeouts float64
}

func (s targetShare) timeout() time.Duration {
	return time.Duration(s.timeouts / s.requests * float64(time.Second))
}

// shares weighs the steps of the chains of the load by the weights of their chains.
func (c *compiler) shares() []targetShare {
	out := make([]targetShare, len(c.plan.Targets))
	var all float64
	for i := range c.plan.Chains {
		chain := &c.plan.Chains[i]
		if chain.Phase != runnerv1alpha1.PhaseLoad {
			continue
		}
		for k := range chain.Steps {
			s := &chain.Steps[k]
			weight := float64(chain.Weight)
			all += weight
			out[s.Target].requests += weight
			out[s.Target].timeouts += weight * s.Timeout.Seconds()
		}
	}
	for i := range out {
		if all > 0 {
			out[i].requests /= all
			out[i].timeouts /= all
		}
	}
	return out
}
