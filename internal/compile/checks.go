package compile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// expectation is a parsed expect. The placeholders of its checks are resolved for each chain.
type expectation struct {
	status []rv.StatusRange
	checks []check
	usim   string // the name of a variable
}

// check is a parsed check.
type check struct {
	path *field.Path
	plan rv.Check // without what match says
	match
}

// reservedChecks are the names of the checks that h2surge makes itself.
var reservedChecks = []string{rv.CheckStatus, rv.CheckScript, rv.CheckBody, rv.CheckRedirect, rv.CheckMessage}

func (c *compiler) expect(at *field.Path, in *v1alpha1.Expect) (out expectation) {
	for i := range in.Status {
		r, ok := statusRange(in.Status[i].String())
		if !ok {
			c.fail(at.Child("status").Index(i), "%s", wantStatus)
			continue
		}
		out.status = append(out.status, r)
	}
	for i := range in.Checks {
		at, in := at.Child("checks").Index(i), &in.Checks[i]
		if name := in.Name; slices.Contains(reservedChecks, name) {
			c.fail(at.Child("name"), "%q is reserved; the results of what h2surge itself checks are named %s", name,
				strings.Join(reservedChecks, ", "))
		}
		out.checks = append(out.checks, c.check(at, in))
	}
	if out.usim = in.USIM; out.usim != "" {
		c.usim(at.Child("usim"), out.usim)
	}
	return out
}

// statusRange reads "201" and "2xx". It accepts 1xx, as the pattern of the API does, although no final response
// has such a status.
func statusRange(s string) (r rv.StatusRange, ok bool) {
	if len(s) != 3 || s[0] < '1' || s[0] > '5' {
		return r, false
	}
	if s[1:] == "xx" {
		from := int(s[0]-'0') * 100
		return rv.StatusRange{From: from, To: from + 99}, true
	}
	code, err := strconv.ParseUint(s, 10, 16)
	return rv.StatusRange{From: int(code), To: int(code)}, err == nil
}

func (c *compiler) check(at *field.Path, in *v1alpha1.Check) check {
	out := check{path: at, plan: rv.Check{Name: in.Name}}
	kinds := c.sourceKinds(at, &in.ValueSource)
	if in.BodySize != nil {
		kinds = append(kinds, rv.Source{Kind: rv.SourceBodySize})
	}
	if in.ResponseTime != nil {
		kinds = append(kinds, rv.Source{Kind: rv.SourceResponseTime})
	}
	looksAt := len(kinds)
	if in.JSONSchema != nil {
		looksAt++
		out.path = at.Child("jsonSchema")
		out.plan.Schema = c.jsonSchema(out.path, in.JSONSchema)
	}
	if looksAt != 1 {
		return out
	}
	if in.Part != "" && !readsContent(&in.ValueSource) && in.BodySize == nil && in.JSONSchema == nil {
		c.fail(at, "part does not go with header, status, request and responseTime")
	}
	if in.JSONSchema != nil {
		out.plan.SchemaPart = in.Part
		c.schemaAlone(at, in)
		return out
	}
	source := c.part(at, &in.ValueSource, kinds[0])
	out.plan.Source = &source
	if source.Kind == rv.SourceResponseTime {
		out.match = c.timeMatch(at, in)
		return out
	}
	out.match = c.comparison(at, &in.Comparison,
		"exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema")
	return out
}

func (c *checker) schemaAlone(at *field.Path, in *v1alpha1.Check) {
	if comparisons(&in.Comparison) > 0 {
		c.fail(at, "exactly one of equals, startsWith, endsWith, contains, matches, exists, lessThan and greaterThan is needed, and none with jsonSchema")
	}
	if in.Regex != "" || in.Group != nil || in.Not {
		c.fail(at, "regex, group and not do not go with jsonSchema")
	}
}

// timeMatch is the comparison of a response time, whose limit is a duration.
func (c *checker) timeMatch(at *field.Path, in *v1alpha1.Check) match {
	out := match{plan: rv.Match{Op: rv.MatchLessThan, Not: in.Not}}
	limit, path := in.LessThan, at.Child("lessThan")
	if limit == "" {
		out.plan.Op, limit, path = rv.MatchGreaterThan, in.GreaterThan, at.Child("greaterThan")
	}
	if comparisons(&in.Comparison) != 1 || limit == "" {
		c.fail(at, "responseTime goes with exactly one of lessThan and greaterThan")
		return out
	}
	if in.Regex != "" {
		c.fail(at.Child("regex"), "does not go with responseTime")
	}
	d, err := time.ParseDuration(limit)
	if err != nil || !durationPattern().MatchString(limit) {
		c.fail(path, "must be a duration such as 20ms, without ${}%s", DurationHint(limit))
		return out
	}
	out.plan.Want = rv.Text{{Literal: strconv.FormatInt(int64(d), 10)}}
	return out
}
