package rules

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/h2surge/h2surge/internal/jsontext"
)

// comparison is the part of a condition that looks at a value.
type comparison struct {
	kind comparisonKind
	want string
	re   *regexp.Regexp
}

type comparisonKind uint8

const (
	equals comparisonKind = iota
	startsWith
	endsWith
	contains
	matches
	exists
	absent
)

func (c *comparison) holds(value []byte) bool {
	switch c.kind {
	case equals:
		return string(value) == c.want
	case startsWith:
		return len(value) >= len(c.want) && string(value[:len(c.want)]) == c.want
	case endsWith:
		return len(value) >= len(c.want) && string(value[len(value)-len(c.want):]) == c.want
	case contains:
		return bytes.Contains(value, []byte(c.want))
	case matches:
		return c.re.Match(value)
	}
	return c.kind == exists
}

// conditions of one rule; all must hold.
type conditions struct {
	headers, query []namedCondition
	body           []bodyCondition
}

type namedCondition struct {
	name string
	comparison
}

type bodyCondition struct {
	whole bool // the body as text
	at    *jsontext.Pointer
	comparison
}

func (c *conditions) count() int { return len(c.headers) + len(c.query) + len(c.body) }

func (c *conditions) hold(call *Call) bool {
	for i := range c.headers {
		if !c.headers[i].any(call.header) {
			return false
		}
	}
	for i := range c.query {
		if !c.query[i].any(call.queryValue) {
			return false
		}
	}
	for i := range c.body {
		if !c.body[i].holdsFor(call) {
			return false
		}
	}
	return true
}

// any reports whether the comparison holds for one of the values of that name.
func (c *namedCondition) any(next func(name string, from int) ([]byte, int)) bool {
	for from := 0; ; {
		value, at := next(c.name, from)
		if at < 0 {
			return c.kind == absent
		}
		if c.holds(value) {
			return true
		}
		if c.kind == absent {
			return false
		}
		from = at
	}
}

func (c *bodyCondition) holdsFor(call *Call) bool {
	if c.whole {
		if c.kind == exists || c.kind == absent {
			return len(call.body) > 0 == (c.kind == exists)
		}
		return c.holds(call.body)
	}
	doc, ok := call.jsonBody()
	if !ok {
		return c.kind == absent
	}
	value, ok := c.at.Raw(doc)
	switch {
	case !ok:
		return c.kind == absent
	case c.kind == exists || c.kind == absent:
		return c.kind == exists
	case len(value) > 0 && value[0] == '"':
		return c.holds(jsontext.Text(call.scratch[:0], value))
	}
	return c.holds(value)
}

// compileComparison takes the one comparison that a condition has.
func (s *source) compileComparison(path string, spec *Condition) comparison {
	var c comparison
	n := 0
	text := func(kind comparisonKind, want *string) {
		if want != nil {
			n++
			c.kind, c.want = kind, *want
		}
	}
	text(equals, spec.Equals)
	text(startsWith, spec.StartsWith)
	text(endsWith, spec.EndsWith)
	text(contains, spec.Contains)
	text(matches, spec.Matches)
	if spec.Exists != nil {
		n++
		c.kind = absent
		if *spec.Exists {
			c.kind = exists
		}
	}
	if n != 1 {
		s.add(path, "must have one of equals, startsWith, endsWith, contains, matches and exists; it has %d", n)
		return c
	}
	if spec.Matches != nil {
		var err error
		if c.re, err = wholeMatch(*spec.Matches); err != nil {
			s.add(path+".matches", "%v", err)
		}
	}
	return c
}

// wholeMatch compiles a regular expression that has to match the whole of a value, line ends
// included.
func wholeMatch(expr string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(expr); err != nil { // so that the message shows what was written
		return nil, err
	}
	return regexp.MustCompile(`(?s)\A(?:` + expr + `)\z`), nil
}

func (s *source) compileConditions(path string, m *Match) conditions {
	var c conditions
	c.headers = s.compileNamed(path+".headers", m.Headers, fieldNameProblem)
	c.query = s.compileNamed(path+".query", m.Query, func(name string) string {
		if name == "" {
			return "is missing"
		}
		return ""
	})
	for i := range m.Body {
		spec, at := &m.Body[i], fmt.Sprintf("%s.body[%d]", path, i)
		if spec.Name != "" {
			s.add(at+".name", "is allowed in headers and query only; use jsonPointer for a body")
		}
		b := bodyCondition{whole: spec.JSONPointer == nil, comparison: s.compileComparison(at, spec)}
		if !b.whole {
			b.at = s.compilePointer(at+".jsonPointer", *spec.JSONPointer)
		}
		c.body = append(c.body, b)
	}
	return c
}

func (s *source) compileNamed(path string, specs []Condition, problem func(string) string) []namedCondition {
	var list []namedCondition
	for i := range specs {
		spec, at := &specs[i], fmt.Sprintf("%s[%d]", path, i)
		if text := problem(spec.Name); text != "" {
			s.add(at+".name", "%s", text)
		}
		if spec.JSONPointer != nil {
			s.add(at+".jsonPointer", "is allowed in body only")
		}
		list = append(list, namedCondition{spec.Name, s.compileComparison(at, spec)})
	}
	return list
}

func (s *source) compilePointer(path, text string) *jsontext.Pointer {
	p, err := jsontext.ParsePointer(text)
	if err != nil {
		s.add(path, "%v", err)
	}
	return p
}
