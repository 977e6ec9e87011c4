package plan

import (
	"fmt"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func (c *checker) chains() {
	c.require(len(c.plan.Chains) > 0, "no chain")
	steps, prompt := 0, 0
	for i := range c.plan.Chains {
		chain, at := &c.plan.Chains[i], fmt.Sprintf("chains[%d]", i)
		steps += len(chain.Steps)
		if chain.Phase == runnerv1alpha1.PhaseLoad && chain.Delay == 0 {
			prompt++
		}
		c.chain(at, chain)
		group := 0
		for j := range chain.Steps {
			at := fmt.Sprintf("%s.steps[%d]", at, j)
			c.step(at, chain, &chain.Steps[j])
			c.group(at, chain.Steps[:j+1], &group)
		}
	}
	c.require(prompt > 0 || len(c.plan.Chains) == 0, "no chain that begins with the load")
	c.require(steps <= MaxSteps, "%d steps", steps)
}

func (c *checker) chain(at string, chain *runnerv1alpha1.Chain) {
	c.require(chain.Target >= 0 && chain.Target < len(c.plan.Targets), "%s.target is %d", at, chain.Target)
	c.require(len(chain.Steps) > 0, "%s has no step", at)
	c.require(len(chain.Steps) == 0 || chain.Target == chain.Steps[0].Target, "%s.target is not that of its first step", at)
	switch chain.Phase {
	case runnerv1alpha1.PhaseLoad:
		c.require(chain.Weight > 0 && chain.Weight <= MaxWeight, "%s.weight is %d", at, chain.Weight)
		c.require(chain.Delay >= 0, "%s.delay is %v", at, chain.Delay)
		c.require(chain.MaxInFlight == 0 || chain.MaxInFlight >= c.plan.Shards, "%s has %d instances for %d shards", at, chain.MaxInFlight, c.plan.Shards)
	case runnerv1alpha1.PhaseSetup, runnerv1alpha1.PhaseTeardown:
		c.require(chain.Delay == 0 && chain.MaxInFlight == 0, "%s runs once and has bounds of the load", at)
	default:
		c.require(false, "%s has phase %q", at, chain.Phase)
	}
	if chain.Phase != runnerv1alpha1.PhaseSetup {
		c.require(len(chain.Publish) == 0, "%s publishes values and is not a setup chain", at)
		return
	}
	c.require(len(chain.Publish) == len(chain.Captures), "%s publishes %d of %d captures", at, len(chain.Publish), len(chain.Captures))
	for _, p := range chain.Publish {
		c.require(p > 0 && p <= len(c.plan.Globals), "%s publishes global %d", at, p)
	}
}

// group checks the group of the last of the steps. last is the highest number of a group so far. Steps of one group
// must follow each other.
func (c *checker) group(at string, steps []runnerv1alpha1.Step, last *int) {
	s := &steps[len(steps)-1]
	if s.Group == 0 {
		return
	}
	goesOn := len(steps) > 1 && steps[len(steps)-2].Group == s.Group
	c.require(s.Group > *last || goesOn, "%s is of group %d, which has ended", at, s.Group)
	c.require(s.Repeat < 2 && len(s.Until) == 0, "%s is of a group and repeated", at)
	c.require(!goesOn || s.Think == nil, "%s waits in the middle of its group", at)
	*last = max(*last, s.Group)
}

func (c *checker) step(at string, chain *runnerv1alpha1.Chain, s *runnerv1alpha1.Step) {
	if s.Await != nil {
		c.await(at, chain, s)
	} else {
		c.require(s.Target >= 0 && s.Target < len(c.plan.Targets), "%s.target is %d", at, s.Target)
		c.require(s.Method != "", "%s has no method", at)
		c.require(len(s.Path) > 0, "%s has no path", at)
		c.require(s.Timeout <= c.plan.Drain, "%s has timeout %v", at, s.Timeout)
	}
	c.require(s.Timeout > 0, "%s has timeout %v", at, s.Timeout)
	c.require(s.MaxBody >= 0, "%s has maxBody %d", at, s.MaxBody)
	c.text(at+".path", chain, s.Path)
	c.text(at+".authority", chain, s.Authority)
	c.require(len(s.Authority) == 0 || s.Target < len(c.plan.Targets) && c.plan.Targets[s.Target].FollowAuthority, "%s names an authority that its target does not follow", at)
	c.text(at+".body", chain, s.Body)
	for _, h := range s.Headers {
		c.require(len(h.Name) > 0, "%s has a header without a name", at)
		c.text(at+".headers", chain, h.Name)
		c.text(at+".headers", chain, h.Value)
	}
	if s.BodyFrom != nil {
		c.require(len(s.Body) == 0, "%s has two bodies", at)
		c.content(at+".bodyFrom", &s.BodyFrom.Content)
	}
	for i := range s.Parts {
		c.bodyPart(fmt.Sprintf("%s.parts[%d]", at, i), chain, s, &s.Parts[i])
	}
	if s.Script != nil {
		c.content(at+".script", &s.Script.Content)
	}
	for i := range s.Capture {
		capture := &s.Capture[i]
		c.require(capture.Slot >= 0 && capture.Slot < len(chain.Captures), "%s captures into slot %d", at, capture.Slot)
		c.source(fmt.Sprintf("%s.capture[%d]", at, i), &capture.Source)
	}
	c.expect(at+".expect", chain, &s.Expect)
	c.conditions(at+".when", chain, s.When)
	c.conditions(at+".until", chain, s.Until)
	c.pauses(at, s)
}

func (c *checker) bodyPart(at string, chain *runnerv1alpha1.Chain, s *runnerv1alpha1.Step, p *runnerv1alpha1.BodyPart) {
	c.require(len(s.Body) == 0 && s.BodyFrom == nil, "%s is next to another body", at)
	c.require(p.ContentType != "", "%s has no contentType", at)
	c.text(at+".body", chain, p.Body)
	if p.BodyFrom != nil {
		c.require(len(p.Body) == 0, "%s has two bodies", at)
		c.content(at+".bodyFrom", &p.BodyFrom.Content)
	}
}

// await checks a step that waits for a notification.
func (c *checker) await(at string, chain *runnerv1alpha1.Chain, s *runnerv1alpha1.Step) {
	c.require(s.Await.Listener >= 0 && s.Await.Listener < len(c.plan.Listeners), "%s awaits a notification of listener %d", at, s.Await.Listener)
	c.require(len(s.Await.Key) > 0, "%s awaits a notification without a key", at)
	c.text(at+".await.key", chain, s.Await.Key)
	request := s.Method != "" || len(s.Path) > 0 || len(s.Authority) > 0 || len(s.Headers) > 0 || len(s.Body) > 0 || s.BodyFrom != nil || s.Script != nil
	c.require(!request, "%s awaits a notification and has a request", at)
	c.require(s.OnFailure.Retries == 0 && s.Repeat < 2 && len(s.Until) == 0, "%s awaits a notification and is repeated", at)
	c.require(len(s.Expect.Status) == 0, "%s awaits a notification and expects a status", at)
}

// listeners checks what workers serve.
func (c *checker) listeners() {
	for i, l := range c.plan.Listeners {
		c.require(l.Name != "", "listeners[%d] has no name", i)
		c.require(l.Port >= 0 && l.Port <= 65535, "listeners[%d] has port %d", i, l.Port)
		c.require(l.Status >= 200 && l.Status <= 599, "listeners[%d] has status %d", i, l.Status)
		if t := l.Token; t != nil {
			algorithms := []string{runnerv1alpha1.TokenHS256, runnerv1alpha1.TokenRS256, runnerv1alpha1.TokenRS512, runnerv1alpha1.TokenES256}
			c.require(slices.Contains(algorithms, t.Algorithm), "listeners[%d].token has the algorithm %q", i, t.Algorithm)
			c.require(t.KeysFile != "", "listeners[%d].token has no keys", i)
		}
		if t := l.TLS; t != nil {
			c.require((t.CertFile == "") == (t.KeyFile == ""), "listeners[%d] has a certificate without a key, or a key without a certificate", i)
			c.require(t.MinVersion == "1.2" || t.MinVersion == "1.3", "listeners[%d] has minVersion %q", i, t.MinVersion)
		}
		c.require(l.Keep > 0 && l.MaxBody >= 0, "listeners[%d] has keep %v and maxBody %d", i, l.Keep, l.MaxBody)
	}
}

func (c *checker) pauses(at string, s *runnerv1alpha1.Step) {
	if t := s.Think; t != nil {
		c.require(t.Fixed >= 0 && t.Mean >= 0 && t.Min >= 0 && t.Max >= t.Min, "%s.think is %+v", at, *t)
		c.require(count(t.Fixed > 0, t.Mean > 0, t.Min > 0) <= 1 && (t.Fixed == 0 || t.Max == 0) && (t.Mean == 0 || t.Max > 0), "%s.think is %+v", at, *t)
	}
	f := &s.OnFailure
	c.require(f.Retries >= 0 && f.Backoff >= 0 && f.MaxBackoff >= f.Backoff, "%s.onFailure is %+v", at, *f)
	c.require(s.MaxRedirects >= 0 && s.MaxRedirects <= 16, "%s follows %d redirects", at, s.MaxRedirects)
	c.require(s.RedirectField == "" || s.MaxRedirects > 0, "%s has a field for redirects and follows none", at)
	c.require(s.Repeat >= 0 && s.Group >= 0, "%s is repeated %d times, in group %d", at, s.Repeat, s.Group)
}

func (c *checker) expect(at string, chain *runnerv1alpha1.Chain, e *runnerv1alpha1.Expect) {
	for _, r := range e.Status {
		c.require(r.From >= 100 && r.From <= r.To && r.To <= 599, "%s is status %d to %d", at, r.From, r.To)
	}
	for i := range e.Checks {
		check, at := &e.Checks[i], fmt.Sprintf("%s.checks[%d]", at, i)
		c.require(check.Name != "", "%s has no name", at)
		if (check.Schema != nil) == (check.Source != nil) || (check.Source != nil) != (check.Match != nil) {
			c.require(false, "%s is not exactly one of schema and match", at)
			continue
		}
		c.content(at, check.Schema)
		if check.Source != nil {
			c.source(at, check.Source)
			c.match(at, chain, check.Match)
		}
	}
}
