package compile

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// maxStages bounds the stages of spec.rates and of all chains together, because the report has an entry for each.
const maxStages = 64

// rates compiles the stages of the mix, then those of each chain with stages of its own.
func (c *planner) rates() {
	path, names := specPath.Child("rates"), map[string]*field.Path{}
	c.stagesOf(path, c.spec.Rates, 0, names)
	mix, own := 0, 0
	for i := range c.spec.Chains {
		chain, at := &c.spec.Chains[i], specPath.Child("chains").Index(i)
		switch {
		case chain.Phase != v1alpha1.PhaseLoad:
			continue
		case len(chain.Rates) == 0:
			mix++
			continue
		}
		own++
		c.ownRates(at, chain)
		c.stagesOf(at.Child("rates"), chain.Rates, i+1, names)
	}
	switch {
	case c.spec.Search != nil:
	case len(c.spec.Rates) == 0 && own == 0:
		c.fail(path, "at least 1 is needed")
	case len(c.spec.Rates) == 0 && mix > 0:
		c.fail(path, "at least 1 is needed, unless each chain of phase Load has rates of its own")
	case len(c.spec.Rates) > 0 && mix == 0 && own > 0:
		c.fail(path, "no chain uses them, because each chain of phase Load has rates of its own")
	case len(c.plan.Rates) > maxStages:
		c.fail(path, "%d stages together with those of all chains, at most %d are possible", len(c.plan.Rates), maxStages)
	case len(c.errs) == 0 && !slices.ContainsFunc(c.plan.Rates, sends):
		c.fail(path, "at least one stage that is not a warm-up must have a rate above 0")
	}
}

// stagesOf compiles the stages of the mix (chain 0), or of a chain.
func (c *planner) stagesOf(path *field.Path, rates []v1alpha1.Rate, chain int, names map[string]*field.Path) {
	index := map[string]int{}
	measured := false
	for i := range rates {
		r, at := &rates[i], path.Index(i)
		c.unique(at.Child("name"), index, r.Name, i)
		if other := names[r.Name]; other != nil {
			c.fail(at.Child("name"), "%q is the name of %s too", r.Name, other)
		}
		if r.WarmUp && measured {
			c.fail(at.Child("warmUp"), "warm-up stages must come before all others")
		}
		measured = measured || !r.WarmUp
		out := c.rate(at, r)
		out.Chain = chain
		c.plan.Rates = append(c.plan.Rates, out)
	}
	for i := range rates {
		if names[rates[i].Name] == nil && rates[i].Name != "" {
			names[rates[i].Name] = path.Index(i)
		}
	}
	switch searches := c.spec.Search != nil; {
	case searches && chain > 0:
		c.fail(path, "rates of a chain are not allowed with search")
	case searches && measured:
		c.fail(path, "all stages must be warm-up stages, because search chooses the rates after them")
	case searches && slices.ContainsFunc(rates, func(r v1alpha1.Rate) bool { return r.Requests != nil }):
		c.fail(path, "requests is not allowed with search; use duration")
	case !searches && !measured && len(rates) > 0:
		c.fail(path, "at least one stage must not be a warm-up")
	}
}

// sends reports whether a stage is measured and has slots.
func sends(r runnerv1alpha1.Rate) bool {
	return !r.WarmUp && (r.ClosedLoop || highest(&r) > 0)
}

// highest returns the higher one of the counts at the start and at the end of a stage.
func highest(r *runnerv1alpha1.Rate) int64 {
	if r.RampFrom != nil {
		return max(r.Count, *r.RampFrom)
	}
	return r.Count
}

// ownRates checks what a chain with stages of its own must not have.
func (c *checker) ownRates(at *field.Path, chain *v1alpha1.Chain) {
	for i := range chain.Rates {
		if chain.Rates[i].ClosedLoop != nil {
			c.fail(at.Child("rates"), "closedLoop is not allowed in rates of a chain; use a rate, and maxInFlight to bound its instances")
			break
		}
	}
	if chain.StartDelay != nil {
		c.fail(at.Child("startDelay"), "startDelay is not allowed with rates; use startAfter")
	}
	if chain.Weight > 1 {
		c.fail(at.Child("weight"), "weight is not allowed with rates, because the chain is not in the weighted mix")
	}
}

// RateOf returns a stage of a plan without its arrivals.
func RateOf(r *v1alpha1.Rate) runnerv1alpha1.Rate {
	out := runnerv1alpha1.Rate{Name: r.Name, WarmUp: r.WarmUp, RampFrom: r.RampFrom, ClosedLoop: r.ClosedLoop != nil,
		Requests: ptr.Deref(r.Requests, 0)}
	if r.Duration != nil {
		out.Duration = r.Duration.Duration
	}
	switch {
	case r.RequestsPerSecond != nil:
		out.Count, out.Period = *r.RequestsPerSecond, time.Second
	case r.RequestsPer != nil:
		out.Count, out.Period = r.RequestsPer.Count, r.RequestsPer.Period.Duration
	case r.ChainsPerSecond != nil:
		out.Count, out.Period, out.ChainsPerSecond = *r.ChainsPerSecond, time.Second, true
	case r.ClosedLoop != nil:
		out.Count = ptr.Deref(r.ClosedLoop.Concurrency, 0)
	}
	return out
}

func (c *planner) rate(at *field.Path, r *v1alpha1.Rate) runnerv1alpha1.Rate {
	out := RateOf(r)
	if out.ChainsPerSecond && r.Requests != nil {
		c.fail(at.Child("requests"), "requests is not allowed with chainsPerSecond; set duration")
	}
	if out.ClosedLoop && out.Count == 0 {
		c.fillsStreams(at.Child("closedLoop"))
	}
	c.arrivals(at, r, &out)
	if r.Duration == nil && r.Requests == nil {
		c.fail(at, "duration, requests or both are needed")
	}
	if r.Duration == nil && !out.ClosedLoop && out.Count == 0 {
		c.fail(at, "a rate of 0 needs duration")
	}
	return out
}

// fillsStreams reports targets whose streams a closed loop cannot fill, because chain instances open the connections.
func (c *planner) fillsStreams(at *field.Path) {
	for i := range c.plan.Targets {
		if t := &c.plan.Targets[i]; t.Connecting.PerInstance {
			c.fail(at, "concurrency is needed: connections to target %q are opened for chain instances", t.Name)
		}
	}
}

// arrivals sets how the rate of a stage changes, and how its slots are spaced.
func (c *planner) arrivals(at *field.Path, r *v1alpha1.Rate, out *runnerv1alpha1.Rate) {
	switch {
	case r.RampFrom != nil && out.ClosedLoop && r.ClosedLoop.Concurrency == nil:
		c.fail(at.Child("rampFrom"), "rampFrom with closedLoop needs concurrency")
	case r.RampFrom != nil && r.Duration == nil:
		c.fail(at.Child("rampFrom"), "rampFrom needs duration")
	}
	if out.ClosedLoop && r.Arrivals != v1alpha1.ArrivalsEven {
		c.fail(at.Child("arrivals"), "arrivals is not allowed with closedLoop")
	}
	if (r.Arrivals == v1alpha1.ArrivalsBurst) != (r.BurstSize != nil) {
		c.fail(at.Child("burstSize"), "burstSize is needed with arrivals Burst, and not allowed without it")
	}
	switch r.Arrivals {
	case v1alpha1.ArrivalsPoisson:
		out.Arrivals = runnerv1alpha1.ArrivalsPoisson
		out.Seed = rand.NewPCG(c.plan.Seed, uint64(len(c.plan.Rates))).Uint64()
	case v1alpha1.ArrivalsBurst:
		out.Arrivals = runnerv1alpha1.ArrivalsBurst
	}
	if r.BurstSize != nil {
		out.BurstSize = *r.BurstSize
	}
}

// lifetime sets the deadline of the runners: activeDeadlineSeconds, or else the longest time that setup, stages and
// teardown can take. A test with a stage that ends by its requests has no deadline, unless the spec sets one.
func (c *planner) lifetime() {
	if d := c.spec.GracefulStop; d != nil {
		c.plan.GracefulStop = d.Duration
	}
	stages, bounded := c.plan.Length()
	for i := range c.plan.Chains {
		if delay := c.plan.Chains[i].Delay; bounded && delay > 0 && delay >= stages {
			c.warn(specPath.Child("chains").Index(i).Child("startDelay"),
				"the chain never starts, because the stages end after %v", stages)
		}
	}
	if d := c.spec.ActiveDeadlineSeconds; d != nil {
		c.plan.Deadline = time.Duration(*d) * time.Second
		return
	}
	if !bounded {
		return
	}
	// a request waits for a stream, then for its response
	c.plan.Deadline = stages + c.plan.GracefulStop + 2*c.plan.Drain + deadlineSlack
	var waits time.Duration
	for i := range c.plan.Chains {
		chain := &c.plan.Chains[i]
		if chain.Phase != runnerv1alpha1.PhaseLoad {
			c.plan.Deadline += chain.Within()
		}
		waits = max(waits, c.longestWait(chain))
	}
	c.plan.Deadline += waits
}

// longestWait returns how long the steps of a chain can wait for notifications, and their listeners for late ones.
func (c *planner) longestWait(chain *runnerv1alpha1.Chain) (wait time.Duration) {
	var keep time.Duration
	for i := range chain.Steps {
		if s := &chain.Steps[i]; s.Await != nil {
			wait += s.Timeout
			keep = max(keep, c.plan.Listeners[s.Await.Listener].Retention)
		}
	}
	return wait + keep
}
