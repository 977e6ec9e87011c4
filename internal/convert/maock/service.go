package maock

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/jsontext"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// service is a pair of a request and its responses.
type service struct {
	path       string
	name       string
	conditions []condition
	responses  []rules.Response
}

// condition is a rule of a request. The fields before spec are its rank.
type condition struct {
	header bool
	equals bool
	text   string
	spec   rules.Condition
}

// service returns nil, and says why, when a condition cannot be expressed: without it the rule
// would be for other requests.
func (c *converter) service(o *convert.Object) *service {
	s := &service{path: o.Path}
	req := o.Child("Request")
	s.name = req.Text("name")
	good := true
	for _, kind := range []string{"headers", "payload"} {
		for _, one := range req.List(kind) {
			cond, ok := c.condition(one, kind == "headers")
			good = good && ok
			if !slices.ContainsFunc(s.conditions, func(other condition) bool { return compareConditions(cond, other) == 0 }) {
				s.conditions = append(s.conditions, cond)
			}
		}
	}
	req.End()
	responses := o.List("Responses")
	if len(responses) == 0 {
		c.Fail(o.At("Responses"), "at least one is required")
	}
	for _, one := range responses {
		s.responses = append(s.responses, c.response(one))
	}
	c.checkWeights(o.At("Responses"), s.responses)
	o.End()
	if !good {
		c.Warn(o.Path, "the rule %q is left out: one of its conditions has no counterpart", s.name)
		return nil
	}
	return s
}

// matchTypes are in maock's order, on which the rank of a service depends.
var matchTypes = []string{"EqualsTo", "StartsWith", "EndsWith", "Contains", "RegexMatch"}

func (c *converter) condition(o *convert.Object, header bool) (cond condition, ok bool) {
	defer o.End()
	kind, input := o.Text("matchType"), o.Text("input")
	number := slices.Index(matchTypes, kind)
	if number < 0 {
		c.Fail(o.At("matchType"), "%q; allowed: %s", kind, strings.Join(matchTypes, ", "))
		return cond, false
	}
	cond = condition{header: header, equals: number == 0}
	at := ""
	ok = true
	if header {
		at = strings.ToLower(o.Text("header-name"))
		cond.spec.Name = at
	} else if at = o.Text("JsonPointer"); at != "" {
		ok = c.checkPointer(o.At("JsonPointer"), at)
		cond.spec.JSONPointer = &at
	}
	cond.text = fmt.Sprint(number) + at + input
	*[]**string{
		&cond.spec.Equals, &cond.spec.StartsWith, &cond.spec.EndsWith, &cond.spec.Contains, &cond.spec.Matches,
	}[number] = &input
	if input == "" && !header && at != "" {
		c.Warn(o.At("input"), "is empty: maock takes a value that is absent for an empty one, the target does not")
	}
	if cond.spec.Matches != nil {
		if _, err := regexp.Compile(input); err != nil {
			c.Warn(o.At("input"), "%v", err)
			return cond, false
		}
	}
	return cond, ok
}

func (c *converter) checkPointer(path, text string) bool {
	if strings.Contains(text, "/~#") {
		c.Warn(path, "%q: the n-th member of an object (/~#) has no counterpart", text)
		return false
	}
	if _, err := jsontext.ParsePointer(text); err != nil {
		c.Warn(path, "%v", err)
		return false
	}
	return true
}

// compareConditions is maock's order: headers after payloads, equality after the rest, then the text
// of type, name and input.
func compareConditions(a, b condition) int {
	later := func(yes, other bool) int {
		switch {
		case yes == other:
			return 0
		case yes:
			return 1
		}
		return -1
	}
	return cmp.Or(later(a.header, b.header), later(a.equals, b.equals), strings.Compare(a.text, b.text))
}

// rank sorts services as maock tries them: most conditions first, then the greater conditions.
func rank(services []*service) {
	for _, s := range services {
		slices.SortFunc(s.conditions, func(a, b condition) int { return compareConditions(b, a) })
	}
	slices.SortStableFunc(services, func(a, b *service) int {
		return cmp.Or(
			cmp.Compare(len(b.conditions), len(a.conditions)),
			slices.CompareFunc(b.conditions, a.conditions, compareConditions),
		)
	})
}

func (c *converter) uniqueNames(services []*service) {
	seen := map[string]bool{}
	for _, s := range services {
		name := s.name
		if name == "" || name == unmatched().Name {
			name = "service"
		}
		unique := name
		for n := 2; seen[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		seen[unique] = true
		if unique != s.name {
			c.Warn(s.path+".Request.name", "%q is not a name of its own; the rule is called %q", s.name, unique)
		}
		s.name = unique
	}
}

// method returns the exact methods of the conditions.
func (s *service) method() (found []string) {
	for _, c := range s.conditions {
		if c.spec.Name == ":method" && c.equals {
			found = append(found, *c.spec.Equals)
		}
	}
	return found
}

// everyMethodOnce returns true if match.method can replace the conditions on methods. The target puts each rule with a
// method before the rules without one, so the order of the rules stays the same only if each service has exactly one
// method.
func everyMethodOnce(services []*service) bool {
	return !slices.ContainsFunc(services, func(s *service) bool { return len(s.method()) != 1 })
}

func (s *service) rule(plainMethod bool) rules.Rule {
	r := rules.Rule{Name: s.name, Responses: s.responses}
	for _, c := range s.conditions {
		switch {
		case plainMethod && c.spec.Name == ":method" && c.equals:
			r.Match.Method = *c.spec.Equals
		case c.header:
			r.Match.Headers = append(r.Match.Headers, c.spec)
		default:
			r.Match.Body = append(r.Match.Body, c.spec)
		}
	}
	return r
}
