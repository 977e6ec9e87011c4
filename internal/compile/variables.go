package compile

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

func (c *compiler) variables() {
	path := field.NewPath("spec", "variables")
	c.items(path, len(c.spec.Variables), 0, 64)
	c.variableIndex = map[string]int{}
	c.variableRead = map[string]bool{}
	for i := range c.spec.Variables {
		v := &c.spec.Variables[i]
		at := path.Index(i)
		c.identName(at.Child("name"), v.Name)
		c.unique(at.Child("name"), c.variableIndex, v.Name, i)
		c.plan.Variables = append(c.plan.Variables, c.variable(at, v))
	}
}

func (c *compiler) variable(at *field.Path, v *v1alpha1.Variable) runnerv1alpha1.Variable {
	out := runnerv1alpha1.Variable{Name: v.Name}
	sound := false
	switch {
	case (v.Range != nil) == (v.List != nil):
		c.fail(at, "exactly one of range and list is needed")
	case v.Range != nil:
		sound = c.integerRange(at.Child("range"), v.Range)
		out.Range = &runnerv1alpha1.Range{Start: v.Range.Start, End: v.Range.End, Step: v.Range.Step, Width: int(v.Range.Width)}
	default:
		sound = c.list(at.Child("list", "values"), v.List.Values)
		out.List = v.List.Values
	}
	if sound && out.Size() < int64(c.spec.Runner.Shards) {
		c.warn(at, "variable %q has %d values for %d shards, so every shard uses all of them", v.Name, out.Size(), c.spec.Runner.Shards)
	}
	return out
}

func (c *compiler) integerRange(at *field.Path, r *v1alpha1.IntegerRange) bool {
	sound := between(c, at.Child("start"), r.Start, 0, maxNumber)
	sound = between(c, at.Child("end"), r.End, 1, maxNumber) && sound
	sound = between(c, at.Child("step"), r.Step, 1, maxNumber) && sound
	sound = between(c, at.Child("width"), r.Width, 0, 19) && sound
	if !sound {
		return false
	}
	if r.End <= r.Start {
		c.fail(at, "end must be greater than start")
		return false
	}
	largest := r.Start + (r.End-1-r.Start)/r.Step*r.Step
	if digits := len(strconv.FormatInt(largest, 10)); r.Width > 0 && int(r.Width) < digits {
		c.fail(at.Child("width"), "is smaller than the %d digits of the largest value", digits)
		return false
	}
	return true
}

func (c *compiler) list(at *field.Path, values []string) bool {
	c.items(at, len(values), 1, 4096)
	for i, v := range values {
		c.length(at.Index(i), v, maxListValue)
	}
	return len(values) > 0
}
