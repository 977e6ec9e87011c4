package chain

import (
	"fmt"

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

func (b *builder) conditions(in []rv.Condition) ([]Condition, error) {
	var out []Condition
	for i := range in {
		var c Condition
		var err error
		if c.value, err = b.build(in[i].Value); err != nil {
			return nil, fmt.Errorf("[%d].value%w", i, err)
		}
		if c.comparison, err = b.comparison(&in[i].Match); err != nil {
			return nil, fmt.Errorf("[%d].match.%w", i, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (b *builder) comparison(in *rv.Match) (comparison, error) {
	want, err := b.build(in.Want)
	if err != nil {
		return comparison{}, fmt.Errorf("want%w", err)
	}
	m, err := match.New(*in)
	return comparison{matcher: m, want: want}, err
}

// holds compares a value. ok is false if the value does not exist. holds overwrites Sources.want.
func (c *comparison) holds(in *Instance, value []byte, ok bool) bool {
	in.src.want = c.want.appendTo(in.src.want[:0], in)
	return c.matcher.Holds(value, ok, in.src.want)
}

// Holds reports whether all conditions are true for an instance. An empty text counts as absent.
func (g *Program) Holds(conditions []Condition, inst *Instance, src *Sources) bool {
	for i := range conditions {
		c := &conditions[i]
		src.value = c.value.appendTo(src.value[:0], inst)
		if !c.holds(inst, src.value, len(src.value) > 0) {
			return false
		}
	}
	return true
}
