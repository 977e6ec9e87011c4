package compile

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

func (c *compiler) variables() {
	path := field.NewPath("spec", "variables")
	c.variableIndex = map[string]int{}
	c.variableRead = map[string]bool{}
	c.tables = map[int]*table{}
	for i := range c.spec.Variables {
		v := &c.spec.Variables[i]
		at := path.Index(i)
		c.place(rv.Place{List: rv.PlaceVariables, Index: i}, at)
		c.variableIndex[v.Name] = i
		out := rv.Variable{Name: v.Name}
		c.drawing(at, v, &out)
		n := c.values(at, i, v, &out)
		c.plan.Variables = append(c.plan.Variables, out)
		parted := out.Order != rv.OrderRandom && (out.Scope == rv.ScopeInstance || out.Scope == rv.ScopeStep)
		if shards := int64(c.spec.Runner.Shards); 0 < n && n < shards && parted {
			c.warn(at, "variable %q has %d values for %d shards, so every shard uses all of them", v.Name, n, shards)
		}
	}
}

// drawing fills in how often, in which order and how long values are drawn.
func (c *checker) drawing(at *field.Path, v *v1alpha1.Variable, out *rv.Variable) {
	scopes := map[v1alpha1.VariableScope]rv.Scope{v1alpha1.ScopeInstance: rv.ScopeInstance,
		v1alpha1.ScopeStep: rv.ScopeStep, v1alpha1.ScopeWorker: rv.ScopeWorker, v1alpha1.ScopeGlobal: rv.ScopeGlobal}
	orders := map[v1alpha1.VariableOrder]rv.Order{v1alpha1.OrderSequential: rv.OrderSequential,
		v1alpha1.OrderShuffled: rv.OrderShuffled, v1alpha1.OrderRandom: rv.OrderRandom}
	out.Scope, out.Order, out.Stop = scopes[v.Scope], orders[v.Order], v.AtEnd == v1alpha1.EndStop
	sequence := v.Range != nil || v.List != nil || v.CSV != nil || v.Subscribers != nil
	if !sequence && (v.Order != v1alpha1.OrderSequential || out.Stop) {
		c.fail(at, "order and atEnd are allowed with range, list, csv and subscribers only")
	}
	if v.Scope != v1alpha1.ScopeInstance && (v.Env != nil || v.PerShard != nil || v.Constant != nil) {
		c.fail(at, "scope is not allowed with env, perShard and constant, which have one value")
	}
	if v.Scope == v1alpha1.ScopeGlobal && v.Timestamp != nil {
		c.fail(at.Child("scope"), "scope Global is not allowed with timestamp: each runner has its own clock")
	}
}

// values fills in where the values come from. It returns the number of values of a sequence, zero
// when it is not known or no sequence.
func (c *compiler) values(at *field.Path, i int, v *v1alpha1.Variable, out *rv.Variable) (n int64) {
	if v.Range != nil && c.integerRange(at.Child("range"), v.Range) {
		out.Range = &rv.Range{Start: v.Range.Start, End: v.Range.End, Step: v.Range.Step, Width: int(v.Range.Width),
			Hex: v.Range.Format == "Hex"}
		n = out.Size()
	}
	if v.List != nil {
		out.List = v.List.Values
		n = int64(len(out.List))
	}
	if v.CSV != nil {
		out.CSV, c.tables[i] = c.csv(at.Child("csv"), v.CSV)
		n = int64(len(c.tables[i].rows))
	}
	if v.Subscribers != nil {
		out.Subscribers, c.tables[i] = c.subscribers(at.Child("subscribers"), v.Subscribers)
		n = v.Subscribers.Count
	}
	if v.Random != nil {
		out.Random = c.random(at.Child("random"), v.Random)
	}
	out.UUID = v.UUID != nil
	if v.Counter != nil {
		out.Counter = &rv.Counter{Start: v.Counter.Start, Step: v.Counter.Step, Width: int(v.Counter.Width)}
	}
	if v.Timestamp != nil {
		out.Timestamp = timestamp(v.Timestamp)
	}
	if v.Env != nil {
		out.Env = &rv.Env{Name: v.Env.Name, Default: v.Env.Default}
	}
	if v.PerShard != nil {
		out.PerShard = v.PerShard.Values
	}
	if v.Constant != nil {
		out.Constant = c.constant(at.Child("constant"), v.Constant)
	}
	return n
}

func (c *checker) integerRange(at *field.Path, r *v1alpha1.IntegerRange) bool {
	base := map[string]int{"Decimal": 10, "Hex": 16}[r.Format]
	if base == 0 || c.structure.wrong(at.String()) {
		return false
	}
	if r.End <= r.Start {
		c.fail(at, "end must be greater than start")
		return false
	}
	largest := r.Start + (r.End-1-r.Start)/r.Step*r.Step
	if digits := len(strconv.FormatInt(largest, base)); r.Width > 0 && int(r.Width) < digits {
		c.fail(at.Child("width"), "is smaller than the %d digits of the largest value", digits)
		return false
	}
	return true
}

func (c *checker) random(at *field.Path, r *v1alpha1.Random) *rv.Random {
	out := &rv.Random{}
	if in := r.Integer; in != nil {
		out.Integer = c.randomInteger(at.Child("integer"), in)
	}
	if in := r.Hex; in != nil {
		out.Hex = int(in.Length)
	}
	if in := r.String; in != nil {
		out.String = &rv.RandomString{Length: int(in.Length), Alphabet: in.Alphabet}
	}
	for _, choice := range r.Choice {
		out.Choice = append(out.Choice, rv.Choice{Value: choice.Value, Weight: int(choice.Weight)})
	}
	return out
}

func (c *checker) randomInteger(at *field.Path, in *v1alpha1.RandomInteger) *rv.RandomInteger {
	if in.Max < in.Min && !c.structure.wrong(at.String()) {
		c.fail(at, "max must not be below min")
	}
	return &rv.RandomInteger{Min: in.Min, Max: in.Max, Width: int(in.Width)}
}

func timestamp(in *v1alpha1.Timestamp) *rv.Timestamp {
	formats := map[string]rv.TimeFormat{
		"RFC3339": rv.TimeRFC3339, "RFC3339Milli": rv.TimeRFC3339Milli, "EpochSeconds": rv.TimeEpochSeconds,
		"EpochMilliseconds": rv.TimeEpochMilliseconds, "IMFFixdate": rv.TimeIMFFixdate,
		"IMFFixdateMilli": rv.TimeIMFFixdateMilli,
	}
	return &rv.Timestamp{Format: formats[in.Format], Offset: offset(in.Offset)}
}

func (c *checker) constant(at *field.Path, in *v1alpha1.Constant) *rv.Content {
	if in.ValueFrom != nil {
		return c.valueFrom(at.Child("valueFrom"), in.ValueFrom)
	}
	out := &rv.Content{}
	if in.Value != nil {
		out.Text = *in.Value
	}
	return out
}
