package compile

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

func (c *compiler) rates() {
	path := field.NewPath("spec", "rates")
	index := map[string]int{}
	measured := false
	for i := range c.spec.Rates {
		r := &c.spec.Rates[i]
		at := path.Index(i)
		c.unique(at.Child("name"), index, r.Name, i)
		if r.WarmUp && measured {
			c.fail(at.Child("warmUp"), "warm-up stages must come before all others")
		}
		measured = measured || !r.WarmUp
		c.plan.Rates = append(c.plan.Rates, c.rate(at, r))
	}
	if !measured && len(c.spec.Rates) > 0 {
		c.fail(path, "at least one stage must not be a warm-up")
	}
}

func (c *compiler) rate(at *field.Path, r *v1alpha1.Rate) runnerv1alpha1.Rate {
	out := runnerv1alpha1.Rate{Name: r.Name, WarmUp: r.WarmUp}
	if r.RequestsPerSecond != nil {
		out.Count, out.Period = *r.RequestsPerSecond, time.Second
	}
	if per := r.RequestsPer; per != nil {
		out.Count, out.Period = per.Count, per.Period.Duration
	}
	if r.ChainsPerSecond != nil {
		out.Count, out.Period, out.ChainsPerSecond = *r.ChainsPerSecond, time.Second, true
		if r.Requests != nil {
			c.fail(at.Child("requests"), "requests is not allowed with chainsPerSecond; set duration")
		}
	}
	if out.ClosedLoop = r.ClosedLoop != nil; out.ClosedLoop {
		out.Count = ptr.Deref(r.ClosedLoop.Concurrency, 0)
	}
	if r.Duration == nil && r.Requests == nil {
		c.fail(at, "duration, requests or both are needed")
	}
	if r.Duration != nil {
		out.Duration = r.Duration.Duration
	}
	if r.Requests != nil {
		out.Requests = *r.Requests
	}
	return out
}

// lifetime sets the deadline of the runners: activeDeadlineSeconds, or else the longest time that setup, stages and
// teardown can take. A test with a stage that ends by its requests has no deadline, unless the spec sets one.
func (c *compiler) lifetime() {
	stages, bounded := c.stages()
	for i := range c.plan.Chains {
		if delay := c.plan.Chains[i].Delay; bounded && delay > 0 && delay >= stages {
			c.warn(specPath.Child("chains").Index(i).Child("startDelay"), "the chain never starts, because the stages end after %v", stages)
		}
	}
	if d := c.spec.ActiveDeadlineSeconds; d != nil {
		c.plan.Deadline = time.Duration(*d) * time.Second
		return
	}
	if !bounded {
		return
	}
	c.plan.Deadline = stages + 2*c.plan.Drain + deadlineSlack // a request waits for a stream, then for its response
	for i := range c.plan.Chains {
		if chain := &c.plan.Chains[i]; chain.Phase != runnerv1alpha1.PhaseLoad {
			c.plan.Deadline += longest(chain)
		}
	}
}

// stages returns the length of all stages together, if each has a duration.
func (c *compiler) stages() (total time.Duration, bounded bool) {
	for _, r := range c.plan.Rates {
		if r.Duration == 0 {
			return 0, false
		}
		total += r.Duration
	}
	return total, true
}

// maxOnce is the maximum time that the deadline includes for one setup or teardown chain. With repeats and retries, such
// a chain could take much longer.
const maxOnce = time.Hour

// longest returns how long a chain takes if every step times out and uses all retries, at most maxOnce.
func longest(chain *runnerv1alpha1.Chain) (total time.Duration) {
	for i := range chain.Steps {
		s := &chain.Steps[i]
		one := s.Timeout
		if s.Think != nil {
			one += max(s.Think.Fixed, s.Think.Max)
		}
		backoff := s.OnFailure.Backoff
		for range s.OnFailure.Retries {
			one += min(backoff, s.OnFailure.MaxBackoff) + s.Timeout
			backoff = min(2*backoff, s.OnFailure.MaxBackoff)
		}
		total += min(min(one, maxOnce)*time.Duration(max(s.Repeat, 1)), maxOnce)
	}
	return min(total, maxOnce)
}
