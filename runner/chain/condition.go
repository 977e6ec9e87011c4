package chain

import (
	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/match"
)

// Condition compares a text with another one.
type Condition struct {
	value text
	comparison
}

// comparison is what a value is compared with.
type comparison struct {
	matcher *match.Matcher
	want    text
}

// conditions builds when or until of a step.
func (b *builder) conditions(field string, in []rv.Condition) (out []Condition) {
	for i := range in {
		b.item(field, i)
		out = append(out, Condition{b.build(in[i].Value), b.comparison(&in[i].Match)})
	}
	return out
}

func (b *builder) comparison(in *rv.Match) comparison {
	m, err := match.New(*in)
	if err != nil {
		b.fail(err)
	}
	return comparison{matcher: m, want: b.build(in.Want)}
}

// holds compares a value. ok is false if the value does not exist. holds overwrites Sources.want.
func (c *comparison) holds(in *Instance, value []byte, ok bool) bool {
	in.src.want = c.want.appendTo(in.src.want[:0], in)
	return c.matcher.Holds(value, ok, in.src.want)
}

// Holds reports whether all conditions are true for the instance. An empty text counts as absent.
func (in *Instance) Holds(conditions []Condition) bool {
	for i := range conditions {
		c := &conditions[i]
		in.src.value = c.value.appendTo(in.src.value[:0], in)
		if !c.holds(in, in.src.value, len(in.src.value) > 0) {
			return false
		}
	}
	return true
}
