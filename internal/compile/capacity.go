package compile

import (
	"math"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// unansweredShare is the share of unanswered requests that a test should be able to hold: the default limit
// on the error rate.
const unansweredShare = 0.01

// capacity warns of targets whose streams cannot hold the requests of the highest rate if a small share of
// them is unanswered until the timeout. By Little's law that takes rate x timeout x share streams.
func (c *planner) capacity() {
	c.concurrency()
	all := make([]targetLoad, len(c.plan.Targets))
	for own := range len(c.plan.Chains) + 1 { // the mix, then chains with stages of their own
		if rate := c.highestRate(own); rate > 0 {
			c.addLoads(all, own, rate)
		}
	}
	for i, load := range all {
		t := &c.plan.Targets[i]
		streams, open := streamsOf(t), int(math.Ceil(load.unanswered*unansweredShare))
		if open <= streams {
			continue
		}
		each := streams / t.Connections
		c.warn(specPath.Child("targets").Index(i).Child("connections"),
			"%s; if 1%% of %.0f requests a second get no response within their timeout of %v, %d are open: set connections: %d, or lower the timeout",
			build.Carry(t.Connections, int64(streams)), load.requests, load.timeout().Round(time.Millisecond), open,
			(open+each-1)/each)
	}
}

// concurrency warns of closed loops with more requests in flight than all streams can carry.
func (c *planner) concurrency() {
	streams := c.streamsOfMix()
	for i := range c.plan.Rates {
		if r := &c.plan.Rates[i]; r.ClosedLoop && r.Count > int64(streams) {
			c.warn(specPath.Child("rates").Index(i).Child("closedLoop", "concurrency"),
				"the connections of all targets together carry %d requests at a time, so %d of %d requests wait for a stream; raise connections or maxConcurrentStreams",
				streams, r.Count-int64(streams), r.Count)
		}
	}
}

// streamsOfMix returns how many requests the targets of the mix carry at a time.
func (c *planner) streamsOfMix() (streams int) {
	mix := make([]targetLoad, len(c.plan.Targets))
	c.addLoads(mix, 0, 1)
	for i := range mix {
		if mix[i].requests > 0 {
			streams += streamsOf(&c.plan.Targets[i])
		}
	}
	return streams
}

// streamsOf returns how many requests all connections to a target carry at a time.
func streamsOf(t *runnerv1alpha1.Target) int {
	if t.Connecting.PerInstance {
		return t.Connections // most instances have one request in flight
	}
	if t.Protocol == runnerv1alpha1.ProtocolHTTP1 {
		return t.Connections * max(1, t.HTTP1.Pipeline)
	}
	return t.Connections * t.MaxConcurrentStreams
}

// highestRate returns the highest rate of the stages of the mix (0) or of a chain (from 1), in requests a second.
func (c *planner) highestRate(own int) (rate float64) {
	for i := range c.plan.Rates {
		r := &c.plan.Rates[i]
		if r.Chain != own || r.ClosedLoop || r.Period <= 0 {
			continue
		}
		requests := float64(highest(r)) / r.Period.Seconds()
		if r.ChainsPerSecond {
			requests *= c.requestsPerInstance(own)
		}
		rate = max(rate, requests)
	}
	return rate
}

// chainsOf returns the chains of the mix (0), or the chain with this number.
func (c *planner) chainsOf(own int) (out []*runnerv1alpha1.Chain) {
	for i := range c.plan.Chains {
		mixed := c.plan.Chains[i].Phase == runnerv1alpha1.PhaseLoad && len(c.spec.Chains[i].Rates) == 0
		if own == i+1 || own == 0 && mixed {
			out = append(out, &c.plan.Chains[i])
		}
	}
	return out
}

// requestsPerInstance returns how many requests an instance sends, on average over these chains.
func (c *planner) requestsPerInstance(own int) float64 {
	var requests, weights int64
	for _, chain := range c.chainsOf(own) {
		requests += int64(chain.Weight) * requestsOf(chain)
		weights += int64(chain.Weight)
	}
	return float64(requests) / float64(max(weights, 1))
}

// targetLoad is what a target gets: requests a second, and how many of them are open if each takes its timeout.
type targetLoad struct{ requests, unanswered float64 }

func (l targetLoad) timeout() time.Duration {
	return time.Duration(l.unanswered / l.requests * float64(time.Second))
}

// addLoads divides a rate among the targets: it weighs the steps of the chains by the weights of their chains.
func (c *planner) addLoads(to []targetLoad, own int, rate float64) {
	var all float64
	chains := c.chainsOf(own)
	for _, chain := range chains {
		for k := range chain.Steps {
			if chain.Steps[k].Await == nil {
				all += float64(chain.Weight)
			}
		}
	}
	for _, chain := range chains {
		for k := range chain.Steps {
			s := &chain.Steps[k]
			if s.Await != nil {
				continue
			}
			requests := rate * float64(chain.Weight) / all
			to[s.Target].requests += requests
			to[s.Target].unanswered += requests * s.Timeout.Seconds()
		}
	}
}
