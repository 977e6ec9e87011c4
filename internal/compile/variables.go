package compile

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

const (
	maxWidth        = 19
	maxCounterStep  = 1_000_000
	maxRandom       = 1024 // characters
	maxChoices      = 256
	maxChoiceWeight = 10_000
	maxAlphabet     = 128
	maxEnvName      = 256
	maxConstant     = 8192
)

func (c *compiler) variables() {
	path := field.NewPath("spec", "variables")
	c.items(path, len(c.spec.Variables), 0, 64)
	c.variableIndex = map[string]int{}
	c.variableRead = map[string]bool{}
	c.tables = map[int]*table{}
	for i := range c.spec.Variables {
		v := &c.spec.Variables[i]
		at := path.Index(i)
		c.identName(at.Child("name"), v.Name)
		c.unique(at.Child("name"), c.variableIndex, v.Name, i)
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
func (c *compiler) drawing(at *field.Path, v *v1alpha1.Variable, out *rv.Variable) {
	scopes := map[v1alpha1.VariableScope]rv.Scope{v1alpha1.ScopeInstance: rv.ScopeInstance, v1alpha1.ScopeStep: rv.ScopeStep, v1alpha1.ScopeWorker: rv.ScopeWorker, v1alpha1.ScopeGlobal: rv.ScopeGlobal}
	orders := map[v1alpha1.VariableOrder]rv.Order{v1alpha1.OrderSequential: rv.OrderSequential, v1alpha1.OrderShuffled: rv.OrderShuffled, v1alpha1.OrderRandom: rv.OrderRandom}
	var ok bool
	if out.Scope, ok = scopes[v.Scope]; !ok {
		c.fail(at.Child("scope"), "must be one of Instance, Step, Worker, Global")
	}
	if out.Order, ok = orders[v.Order]; !ok {
		c.fail(at.Child("order"), "must be one of Sequential, Shuffled, Random")
	}
	if v.AtEnd != v1alpha1.EndWrap && v.AtEnd != v1alpha1.EndStop {
		c.fail(at.Child("atEnd"), "must be Wrap or Stop")
	}
	out.Stop = v.AtEnd == v1alpha1.EndStop
	sequence := v.Range != nil || v.List != nil || v.CSV != nil
	if !sequence && (v.Order != v1alpha1.OrderSequential || out.Stop) {
		c.fail(at, "order and atEnd are allowed with range, list and csv only")
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
	kinds := 0
	kind := func(there bool) bool {
		if there {
			kinds++
		}
		return there
	}
	if kind(v.Range != nil) && c.integerRange(at.Child("range"), v.Range) {
		out.Range = &rv.Range{Start: v.Range.Start, End: v.Range.End, Step: v.Range.Step, Width: int(v.Range.Width), Hex: v.Range.Format == "Hex"}
		n = out.Size()
	}
	if kind(v.List != nil) {
		out.List = c.list(at.Child("list", "values"), v.List.Values)
		n = int64(len(out.List))
	}
	if kind(v.CSV != nil) {
		out.CSV, c.tables[i] = c.csv(at.Child("csv"), v.CSV)
		n = int64(len(c.tables[i].rows))
	}
	if kind(v.Random != nil) {
		out.Random = c.random(at.Child("random"), v.Random)
	}
	out.UUID = kind(v.UUID != nil)
	if kind(v.Counter != nil) {
		out.Counter = c.counter(at.Child("counter"), v.Counter)
	}
	if kind(v.Timestamp != nil) {
		out.Timestamp = c.timestamp(at.Child("timestamp"), v.Timestamp)
	}
	if kind(v.Env != nil) {
		out.Env = c.env(at.Child("env"), v.Env)
	}
	if kind(v.PerShard != nil) {
		out.PerShard = c.list(at.Child("perShard", "values"), v.PerShard.Values)
	}
	if kind(v.Constant != nil) {
		out.Constant = c.constant(at.Child("constant"), v.Constant)
	}
	if kinds != 1 {
		c.fail(at, "exactly one of range, list, csv, random, uuid, counter, timestamp, env, perShard and constant is needed")
	}
	return n
}

func (c *compiler) integerRange(at *field.Path, r *v1alpha1.IntegerRange) bool {
	sound := between(c, at.Child("start"), r.Start, 0, maxNumber)
	sound = between(c, at.Child("end"), r.End, 1, maxNumber) && sound
	sound = between(c, at.Child("step"), r.Step, 1, maxNumber) && sound
	sound = between(c, at.Child("width"), r.Width, 0, maxWidth) && sound
	base := map[string]int{"Decimal": 10, "Hex": 16}[r.Format]
	if base == 0 {
		c.fail(at.Child("format"), "must be Decimal or Hex")
		return false
	}
	if !sound {
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

func (c *compiler) list(at *field.Path, values []string) []string {
	c.items(at, len(values), 1, 4096)
	for i, v := range values {
		c.length(at.Index(i), v, maxListValue)
	}
	return values
}

func (c *compiler) random(at *field.Path, r *v1alpha1.Random) *rv.Random {
	out := &rv.Random{}
	kinds := 0
	if in := r.Integer; in != nil {
		kinds++
		out.Integer = c.randomInteger(at.Child("integer"), in)
	}
	if in := r.Hex; in != nil {
		kinds++
		between(c, at.Child("hex", "length"), in.Length, 1, maxRandom)
		out.Hex = int(in.Length)
	}
	if in := r.String; in != nil {
		kinds++
		out.String = c.randomString(at.Child("string"), in)
	}
	if r.Choice != nil {
		kinds++
		out.Choice = c.choices(at.Child("choice"), r.Choice)
	}
	if kinds != 1 {
		c.fail(at, "exactly one of integer, hex, string and choice is needed")
	}
	return out
}

func (c *compiler) randomInteger(at *field.Path, in *v1alpha1.RandomInteger) *rv.RandomInteger {
	sound := between(c, at.Child("min"), in.Min, 0, maxNumber)
	sound = between(c, at.Child("max"), in.Max, 0, maxNumber) && sound
	between(c, at.Child("width"), in.Width, 0, maxWidth)
	if sound && in.Max < in.Min {
		c.fail(at, "max must not be below min")
	}
	return &rv.RandomInteger{Min: in.Min, Max: in.Max, Width: int(in.Width)}
}

func (c *compiler) randomString(at *field.Path, in *v1alpha1.RandomString) *rv.RandomString {
	between(c, at.Child("length"), in.Length, 1, maxRandom)
	if path := at.Child("alphabet"); c.length(path, in.Alphabet, maxAlphabet) && !isPrintable(in.Alphabet) {
		c.fail(path, "must be printable ASCII characters")
	}
	return &rv.RandomString{Length: int(in.Length), Alphabet: in.Alphabet}
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (c *compiler) choices(at *field.Path, in []v1alpha1.RandomChoice) []rv.Choice {
	c.items(at, len(in), 1, maxChoices)
	out := make([]rv.Choice, len(in))
	for i, choice := range in {
		c.length(at.Index(i).Child("value"), choice.Value, maxListValue)
		between(c, at.Index(i).Child("weight"), choice.Weight, 1, maxChoiceWeight)
		out[i] = rv.Choice{Value: choice.Value, Weight: int(choice.Weight)}
	}
	return out
}

func (c *compiler) counter(at *field.Path, in *v1alpha1.Counter) *rv.Counter {
	between(c, at.Child("start"), in.Start, 0, maxNumber)
	between(c, at.Child("step"), in.Step, 1, maxCounterStep)
	between(c, at.Child("width"), in.Width, 0, maxWidth)
	return &rv.Counter{Start: in.Start, Step: in.Step, Width: int(in.Width)}
}

// offsetSpan is a year either way.
var offsetSpan = span{-8760 * time.Hour, 8760 * time.Hour, "must be between -8760h and 8760h"}

func (c *compiler) timestamp(at *field.Path, in *v1alpha1.Timestamp) *rv.Timestamp {
	formats := map[string]rv.TimeFormat{
		"RFC3339": rv.TimeRFC3339, "RFC3339Milli": rv.TimeRFC3339Milli, "EpochSeconds": rv.TimeEpochSeconds,
		"EpochMilliseconds": rv.TimeEpochMilliseconds, "IMFFixdate": rv.TimeIMFFixdate,
	}
	out := &rv.Timestamp{}
	var ok bool
	if out.Format, ok = formats[in.Format]; !ok {
		c.fail(at.Child("format"), "must be one of RFC3339, RFC3339Milli, EpochSeconds, EpochMilliseconds, IMFFixdate")
	}
	if in.Offset != nil {
		out.Offset = c.duration(at.Child("offset"), in.Offset, offsetSpan)
	}
	return out
}

func (c *compiler) env(at *field.Path, in *v1alpha1.Env) *rv.Env {
	switch path := at.Child("name"); {
	case in.Name == "":
		c.fail(path, "is needed")
	case c.length(path, in.Name, maxEnvName) && !envName.MatchString(in.Name):
		c.fail(path, "must be letters, digits, -, _ and dots, not beginning with a digit")
	}
	if in.Default != nil {
		c.length(at.Child("default"), *in.Default, maxListValue)
	}
	return &rv.Env{Name: in.Name, Default: in.Default}
}

func (c *compiler) constant(at *field.Path, in *v1alpha1.Constant) *rv.Content {
	if (in.Value != nil) == (in.ValueFrom != nil) {
		c.fail(at, "exactly one of value and valueFrom is needed")
	}
	if in.ValueFrom != nil {
		return c.valueFrom(at.Child("valueFrom"), in.ValueFrom)
	}
	out := &rv.Content{}
	if in.Value != nil {
		c.length(at.Child("value"), *in.Value, maxConstant)
		out.Text = *in.Value
	}
	return out
}
