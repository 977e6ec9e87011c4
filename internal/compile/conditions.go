package compile

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/lazy"
)

// numberPattern matches the decimal numbers of JSON, with which lessThan and greaterThan compare.
var numberPattern = lazy.Regexp(`^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,9})?$`)

// match is a parsed comparison.
type match struct {
	plan rv.Match // without Want, if want is set
	want text
}

// condition is a parsed condition.
type condition struct {
	path  *field.Path
	value text
	match
}

func (c *compiler) conditions(path *field.Path, in []v1alpha1.Condition) (out []condition) {
	for i := range in {
		at := path.Index(i)
		next := condition{path: at, match: c.comparison(at, &in[i].Comparison,
			"exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed")}
		next.value = c.text(at.Child("value"), in[i].Value, nil, "")
		if in[i].Equals != nil && *in[i].Equals == "" && !in[i].Not {
			c.warn(at.Child("equals"), "never holds, because an empty text counts as no value; exists: false holds then")
		}
		out = append(out, next)
	}
	return out
}

// comparisons returns the number of comparisons that are set.
func comparisons(in *v1alpha1.Comparison) (n int) {
	for _, set := range []bool{
		in.Equals != nil, in.StartsWith != nil, in.EndsWith != nil, in.Contains != nil,
		in.Matches != "", in.Exists != nil, in.LessThan != "", in.GreaterThan != "",
	} {
		if set {
			n++
		}
	}
	return n
}

// comparison parses all comparisons. exactlyOne is the message if there is not exactly one.
func (c *compiler) comparison(at *field.Path, in *v1alpha1.Comparison, exactlyOne string) (out match) {
	out.plan.Not = in.Not
	for _, t := range []struct {
		op    rv.MatchOp
		value *string
	}{
		{rv.MatchEquals, in.Equals},
		{rv.MatchStartsWith, in.StartsWith},
		{rv.MatchEndsWith, in.EndsWith},
		{rv.MatchContains, in.Contains},
	} {
		if t.value != nil {
			out.plan.Op, out.want = t.op, c.text(at.Child(string(t.op)), *t.value, nil, "")
		}
	}
	if in.LessThan != "" {
		out.plan.Op, out.want = rv.MatchLessThan, c.number(at.Child("lessThan"), in.LessThan)
	}
	if in.GreaterThan != "" {
		out.plan.Op, out.want = rv.MatchGreaterThan, c.number(at.Child("greaterThan"), in.GreaterThan)
	}
	if in.Matches != "" {
		c.regex(at.Child("matches"), in.Matches)
		out.plan.Op, out.plan.Pattern = rv.MatchMatches, in.Matches
	}
	if in.Exists != nil {
		out.plan.Op, out.plan.Want = rv.MatchExists, rv.Text{{Literal: strconv.FormatBool(*in.Exists)}}
		if in.Not {
			c.fail(at.Child("not"), "does not go with exists, which may be false")
		}
	}
	if comparisons(in) != 1 {
		c.fail(at, "%s", exactlyOne)
	}
	return out
}

// number parses a text that must be a decimal number if it has no placeholders.
func (c *compiler) number(at *field.Path, value string) text {
	out := c.text(at, value, nil, "")
	if literal, constant := out.constant(); constant && !numberPattern().MatchString(literal) {
		c.fail(at, "must be a decimal number such as 10.5")
	}
	return out
}

// constant returns the content of a text without placeholders.
func (t text) constant() (literal string, constant bool) {
	if len(t.pieces) != 1 || t.pieces[0].Ref != nil {
		return "", false
	}
	return t.pieces[0].Literal, true
}
