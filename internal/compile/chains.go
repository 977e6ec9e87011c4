package compile

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
)

func (c *compiler) chains() {
	path := field.NewPath("spec", "chains")
	c.items(path, len(c.spec.Chains), 1, 64)
	c.captureRead = map[captureID]bool{}
	index := map[string]int{}
	steps := 0
	for i := range c.spec.Chains {
		chain := &c.spec.Chains[i]
		at := path.Index(i)
		c.dashName(at.Child("name"), chain.Name)
		c.unique(at.Child("name"), index, chain.Name, i)
		c.items(at.Child("steps"), len(chain.Steps), 1, plan.MaxSteps)
		between(c, at.Child("weight"), chain.Weight, 1, 10_000)
		steps += len(chain.Steps)
		c.plan.Chains = append(c.plan.Chains, c.chain(at, chain))
	}
	if steps > plan.MaxSteps {
		c.fail(path, "%d steps in all chains together, at most %d are possible", steps, plan.MaxSteps)
	}
	c.warnUnused()
}

// chainScope is what names mean at one step of a chain.
type chainScope struct {
	name  string
	slots map[string]int // capture name to index of Chain.Captures
	// maker is the template's capture that fills a slot at the step that is being compiled;
	// only slots filled by earlier steps are in it.
	maker map[string]captureID
	// later names the first step that makes a capture, for messages.
	later map[string]string
	step  string
}

func (c *compiler) chain(at *field.Path, chain *v1alpha1.Chain) runnerv1alpha1.Chain {
	out := runnerv1alpha1.Chain{Name: chain.Name, Weight: int(chain.Weight)}
	if i, ok := c.targetIndex[chain.Target]; ok {
		out.Target = i
	} else {
		c.missing(at.Child("target"), "target", chain.Target)
	}
	scope := &chainScope{name: chain.Name, slots: map[string]int{}, maker: map[string]captureID{}, later: map[string]string{}}
	templates := c.stepTemplates(at.Child("steps"), chain)
	for j, t := range templates {
		if t < 0 {
			continue
		}
		for _, capture := range c.requests[t].captures {
			if _, known := scope.slots[capture.Name]; known {
				continue
			}
			scope.slots[capture.Name] = len(out.Captures)
			scope.later[capture.Name] = chain.Steps[j].Name
			out.Captures = append(out.Captures, capture.Name)
		}
	}
	for j, t := range templates {
		if t < 0 {
			continue
		}
		scope.step = chain.Steps[j].Name
		out.Steps = append(out.Steps, c.step(scope, t, out.Target))
	}
	return out
}

// stepTemplates resolves the template of each step, -1 for an unknown one, and checks names.
func (c *compiler) stepTemplates(at *field.Path, chain *v1alpha1.Chain) []int {
	out := make([]int, len(chain.Steps))
	index := map[string]int{}
	for j, s := range chain.Steps {
		i, ok := c.templateIndex[s.Template]
		if !ok {
			c.missing(at.Index(j).Child("template"), "template", s.Template)
			i = -1
		} else {
			c.requests[i].used = true
		}
		out[j] = i
		if s.Name != s.Template {
			c.dashName(at.Index(j).Child("name"), s.Name)
		}
		if first, taken := index[s.Name]; taken && s.Name != "" {
			c.fail(at.Index(j).Child("name"), "%q is the name of step %d too; give one of them another name", s.Name, first)
			continue
		}
		index[s.Name] = j
	}
	return out
}

func (c *compiler) missing(path *field.Path, what, name string) {
	if name == "" {
		c.fail(path, "is needed")
		return
	}
	if c.length(path, name, maxName) {
		c.fail(path, "there is no %s %q", what, name)
	}
}

func (c *compiler) step(scope *chainScope, template, target int) runnerv1alpha1.Step {
	r := &c.requests[template]
	out := runnerv1alpha1.Step{
		Name:    scope.step,
		Method:  r.method,
		Path:    c.resolve(scope, r.target),
		Body:    c.resolve(scope, r.body),
		Timeout: r.timeout,
		Expect:  r.expect,
	}
	c.asterisk(r, target)
	for _, h := range r.headers {
		out.Headers = append(out.Headers, runnerv1alpha1.Header{Name: runnerv1alpha1.Text{{Literal: h.name}}, Value: c.resolve(scope, h.value)})
	}
	for j, capture := range r.captures {
		out.Capture = append(out.Capture, runnerv1alpha1.Capture{Slot: scope.slots[capture.Name], Source: runnerv1alpha1.Source{Kind: runnerv1alpha1.SourceHeader, Name: strings.ToLower(capture.Header)}, Location: strings.EqualFold(capture.Header, "location")})
		scope.maker[capture.Name] = captureID{template, j}
	}
	c.plan.Drain = max(c.plan.Drain, r.timeout)
	return out
}

// asterisk refuses "OPTIONS *" on a target with a path of its own, which would be put before it.
func (c *compiler) asterisk(r *request, target int) {
	if len(r.target.pieces) != 1 || r.target.pieces[0].literal != "*" || target >= len(c.plan.Targets) {
		return
	}
	for _, e := range c.plan.Targets[target].Endpoints {
		if e.BasePath != "" {
			c.fail(r.target.path, "* is not possible on target %q, whose url has a path", c.plan.Targets[target].Name)
			return
		}
	}
}

// resolve replaces the names in a text by what they mean at this step.
func (c *compiler) resolve(scope *chainScope, t text) runnerv1alpha1.Text {
	var out runnerv1alpha1.Text
	for _, p := range t.pieces {
		if p.name == "" {
			out = append(out, runnerv1alpha1.Part{Literal: p.literal})
			continue
		}
		if i, ok := c.variableIndex[p.name]; ok {
			out = append(out, runnerv1alpha1.Part{Variable: i + 1})
			continue
		}
		if !c.captured[p.name] {
			continue // reported when the template was parsed
		}
		maker, made := scope.maker[p.name]
		if !made {
			c.notMade(scope, t.path, p.name)
			continue
		}
		c.captureRead[maker] = true
		out = append(out, runnerv1alpha1.Part{Capture: scope.slots[p.name] + 1})
	}
	return out
}

func (c *compiler) notMade(scope *chainScope, path *field.Path, name string) {
	switch maker, later := scope.later[name]; {
	case !later:
		c.fail(path, "capture %q is made by no step of chain %q, where step %q reads it", name, scope.name, scope.step)
	case maker == scope.step:
		c.fail(path, "capture %q is made by step %q of chain %q itself, from the response to this request", name, maker, scope.name)
	default:
		c.fail(path, "capture %q is read by step %q of chain %q before step %q makes it", name, scope.step, scope.name, maker)
	}
}

// warnUnused tells what the spec defines and nothing reads.
func (c *compiler) warnUnused() {
	targets := map[string]bool{}
	for _, chain := range c.spec.Chains {
		targets[chain.Target] = true
	}
	for i, t := range c.spec.Targets {
		if !targets[t.Name] {
			c.warn(field.NewPath("spec", "targets").Index(i), "target %q is used by no chain; its connections are opened all the same", t.Name)
		}
	}
	for i, v := range c.spec.Variables {
		if !c.variableRead[v.Name] {
			c.warn(field.NewPath("spec", "variables").Index(i), "variable %q is never read", v.Name)
		}
	}
	for i := range c.requests {
		r := &c.requests[i]
		if !r.used {
			c.warn(r.path, "template %q is used by no chain", c.spec.Templates[i].Name)
			continue
		}
		for j, capture := range r.captures {
			if !c.captureRead[captureID{i, j}] {
				c.warn(r.path.Child("capture").Index(j), "capture %q is never read", capture.Name)
			}
		}
	}
}
