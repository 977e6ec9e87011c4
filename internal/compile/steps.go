package compile

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// kindsOf returns how many of request, template, parallel and await a step has.
func kindsOf(in *v1alpha1.Step) (n int) {
	for _, set := range []bool{in.Request != nil, in.Template != "", in.Parallel != nil, in.Await != nil} {
		if set {
			n++
		}
	}
	return n
}

// flatStep is a step, or one step of a parallel group, without what depends on captures of other steps.
type flatStep struct {
	name, template, target string
	request                *request
	targetIndex            int // -1: unknown
	think                  *rv.Think
	when, until            []condition
	repeat                 int
	onFailure              rv.OnFailure
	clearCookies, always   bool
	group                  int
	await                  *awaited // nil: the step sends the request
}

// mayLack reports whether the chain can continue without the captures of the step.
func (s *flatStep) mayLack() bool { return len(s.when) > 0 || s.onFailure.Continue }

// flatten returns the requests of a chain in their order. It reports steps with an unknown template, and leaves them
// out.
func (c *compiler) flatten(at *field.Path, chain *v1alpha1.Chain) (out []flatStep) {
	index := map[string]int{}
	group := 0
	c.alwaysLast(at, chain)
	for j := range chain.Steps {
		in, at := &chain.Steps[j], at.Index(j)
		var steps []flatStep
		switch {
		case kindsOf(in) != 1:
		case in.Parallel != nil:
			group++
			steps = c.parallel(at, chain, in, group)
		case in.Await != nil:
			steps = []flatStep{c.awaiting(at, chain, in, j)}
		default:
			steps = []flatStep{c.single(at, chain, in)}
		}
		for k := range steps {
			at := at
			if in.Parallel != nil {
				at = at.Child("parallel").Index(k)
			}
			s := &steps[k]
			s.always = in.Always
			if c.find(at, s); s.request != nil {
				out = append(out, *s)
			}
			if first, taken := index[s.name]; taken && s.name != "" {
				c.fail(at.Child("name"), "%q is the name of step %d too; give one of them another name", s.name, first)
				continue
			}
			index[s.name] = j
		}
	}
	return out
}

// alwaysLast checks that only always steps follow an always step, and that they can be sent after the load.
func (c *planner) alwaysLast(at *field.Path, chain *v1alpha1.Chain) {
	for j := range chain.Steps {
		switch {
		case j > 0 && chain.Steps[j-1].Always && !chain.Steps[j].Always:
			c.fail(at, "a step after one with always: true needs always: true")
		case chain.Steps[j].Always && (j == 0 || !chain.Steps[j-1].Always) && chain.Phase == v1alpha1.PhaseLoad:
			if g := c.spec.GracefulStop; g == nil || g.Duration == 0 {
				c.warn(at.Index(j).Child("always"),
					"instances under way at the end of the load do not send it; spec.gracefulStop gives it time")
			}
		}
	}
}

// find looks up the template and the target of a step, and checks the name of the step.
func (c *compiler) find(at *field.Path, s *flatStep) {
	if s.await != nil {
		if s.name == "" {
			c.fail(at, "a step with a request or await needs a name")
		}
		return
	}
	if i, ok := c.templateIndex[s.template]; ok {
		s.request = c.requests[i]
		s.request.used = true
	} else if s.request == nil {
		c.missing(at.Child("template"), "template", s.template)
	}
	switch {
	case s.name == "" && s.request != nil && s.template == "":
		c.fail(at, "a step with a request or await needs a name")
	}
	i, ok := c.targetIndex[s.target]
	if !ok {
		i = -1
	}
	s.targetIndex = i
}

// stepTarget returns a step's own target, or else the target of its chain, which chain checks.
func (c *compiler) stepTarget(at *field.Path, own, chains string) string {
	if own == "" {
		return chains
	}
	if _, ok := c.targetIndex[own]; !ok {
		c.missing(at, "target", own)
	}
	return own
}

func (c *compiler) single(at *field.Path, chain *v1alpha1.Chain, in *v1alpha1.Step) flatStep {
	if in.ClearCookies && !chain.Cookies {
		c.warn(at.Child("clearCookies"), "chain %q keeps no cookies; cookies: true makes it", chain.Name)
	}
	out := flatStep{
		name: in.Name, template: in.Template, request: c.inline[in.Request],
		target:       c.stepTarget(at.Child("target"), in.Target, chain.Target),
		think:        c.thinkTime(at.Child("thinkTime"), in.ThinkTime),
		when:         c.conditions(at.Child("when"), in.When),
		onFailure:    c.onFailure(at, in.Retry, in.OnFailure),
		clearCookies: in.ClearCookies,
	}
	if r := in.Repeat; r != nil {
		out.repeat = int(r.Count)
		out.until = c.conditions(at.Child("repeat", "until"), r.Until)
	}
	return out
}

// parallel returns the requests of a group. The think time of the group is that of the first request. The conditions of
// the group apply to each request.
func (c *compiler) parallel(at *field.Path, chain *v1alpha1.Chain, in *v1alpha1.Step, group int) []flatStep {
	path := at.Child("parallel")
	if in.Name != "" || in.Target != "" || in.Repeat != nil || in.Retry != nil || in.OnFailure != "" || in.ClearCookies {
		c.fail(at, "cannot be used with parallel; allowed: thinkTime, when, always")
	}
	when := c.conditions(at.Child("when"), in.When)
	think := c.thinkTime(at.Child("thinkTime"), in.ThinkTime)
	var out []flatStep
	for k := range in.Parallel {
		p, at := &in.Parallel[k], path.Index(k)
		out = append(out, flatStep{
			name: p.Name, template: p.Template,
			target:    c.stepTarget(at.Child("target"), p.Target, chain.Target),
			think:     think,
			when:      append(when[:len(when):len(when)], c.conditions(at.Child("when"), p.When)...),
			onFailure: c.onFailure(at, p.Retry, p.OnFailure),
			group:     group,
		})
		think = nil
	}
	return out
}

func (c *checker) onFailure(at *field.Path, retry *v1alpha1.Retry, action v1alpha1.FailureAction) (out rv.OnFailure) {
	out.Continue = action == v1alpha1.FailureContinue
	if retry == nil {
		return out
	}
	at = at.Child("retry")
	out.Retries = int(retry.Attempts)
	out.Backoff, out.MaxBackoff = retry.Backoff.Duration, retry.MaxBackoff.Duration
	out.IgnoreRetryAfter = retry.RetryAfter == v1alpha1.RetryAfterIgnore
	if out.MaxBackoff < out.Backoff {
		c.fail(at.Child("maxBackoff"), "%v is below the backoff of %v", out.MaxBackoff, out.Backoff)
	}
	return out
}

// thinkTime returns the think time; nil: the step does not wait.
func (c *checker) thinkTime(at *field.Path, in *v1alpha1.ThinkTime) *rv.Think {
	if in == nil {
		return nil
	}
	var out rv.Think
	if in.Fixed != nil {
		out.Fixed = in.Fixed.Duration
	}
	if u := in.Uniform; u != nil {
		out.Min, out.Max = u.Min.Duration, u.Max.Duration
		if out.Max < out.Min {
			c.fail(at.Child("uniform"), "max must not be below min")
		}
	}
	if e := in.Exponential; e != nil {
		out.Mean, out.Max = e.Mean.Duration, e.Max.Duration
	}
	if out == (rv.Think{}) {
		return nil
	}
	return &out
}
