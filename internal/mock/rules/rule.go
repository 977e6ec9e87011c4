package rules

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/h2surge/h2surge/runner/h2/hpack"
)

// rule is a compiled Rule.
type rule struct {
	index      int // in the file
	method     string
	path       pattern
	conditions conditions
	resource   *resource
	responses  []*response
	weight     int // of all responses
	notify     []*notify
	// called: the path matches a method of gRPC. each: the rule answers messages of a stream.
	called, each bool
}

// compare is negative when r goes before other: the more specific path, then a method given, then
// more conditions. Equal rules keep the order of the file.
func (r *rule) compare(other *rule) int {
	given := func(r *rule) int { return min(len(r.method), 1) }
	return cmp.Or(
		r.path.compare(&other.path),
		cmp.Compare(given(other), given(r)),
		cmp.Compare(other.conditions.count(), r.conditions.count()),
	)
}

func (r *rule) matches(c *Call) bool {
	if r.method != "" && r.method != string(c.method) {
		return false
	}
	if c.called && !r.called || c.single != r.each {
		return false
	}
	var ok bool
	c.params, ok = r.path.match(c.path, c.params[:0])
	return ok && r.conditions.hold(c)
}

func (r *rule) collection() string {
	if r.resource == nil {
		return ""
	}
	return r.resource.collection
}

// find returns the most specific rule that matches, or nil.
func (s *Set) find(c *Call) *rule {
	for _, r := range s.exact[string(c.path)] {
		if r.matches(c) {
			return r
		}
	}
	for _, r := range s.inexact {
		if r.matches(c) {
			return r
		}
	}
	return nil
}

// draw picks a response by weight.
func (r *rule) draw(rng *rand.Rand) *response {
	if len(r.responses) == 1 {
		return r.responses[0]
	}
	at := rng.IntN(r.weight)
	for _, resp := range r.responses {
		if at -= resp.weight; at < 0 {
			return resp
		}
	}
	return r.responses[len(r.responses)-1]
}

// maxWeight bounds one response's weight.
const maxWeight = 1_000_000

func (s *source) compileRule(path string, spec *Rule, index int, dir string) *rule {
	r := &rule{index: index, method: spec.Match.Method}
	if spec.Name == "" {
		s.add(path+".name", "is empty")
	}
	if m := spec.Match.Method; m != "" && fieldNameProblem(strings.ToLower(m)) != "" {
		s.add(path+".match.method", "%q is not a method (RFC 9110 section 9.1)", m)
	}
	var err error
	if r.path, err = parsePattern(spec.Match.Path); err != nil {
		s.add(path+".match.path", "%v", err)
	}
	r.conditions = s.compileConditions(path+".match", &spec.Match)
	sc := scope{params: r.path.params, state: spec.Resource != nil}
	r.called, sc.method = s.methodsOf(&r.path)
	sc.called = r.called
	r.each = spec.Match.EachMessage
	if sc.message = r.each; r.each && (sc.method == nil || !sc.method.Streams()) {
		s.add(path+".match.eachMessage", "match.path is not the path of a method with a stream of the client")
	}
	if spec.Resource != nil {
		r.resource = s.compileResource(path+".resource", spec.Resource, sc)
	}
	list := spec.Responses
	switch {
	case len(list) == 0 && spec.Resource == nil && s.isRead(path):
		s.add(path, "must have responses or a resource")
	case len(list) == 0:
		list = []Response{{}}
	}
	for i := range list {
		resp := s.compileResponse(fmt.Sprintf("%s.responses[%d]", path, i), &list[i], sc, dir)
		r.weight += resp.weight
		r.responses = append(r.responses, resp)
	}
	if r.weight == 0 && len(list) > 0 {
		s.add(path+".responses", "all weights are 0")
	}
	sc.called = false
	for i := range spec.Notify {
		r.notify = append(r.notify, s.compileNotify(fmt.Sprintf("%s.notify[%d]", path, i), &spec.Notify[i], sc, dir))
	}
	return r
}

// literalPrefix returns an encoded field without its value.
func literalPrefix(name string) []byte {
	_, index := hpack.StaticIndex(name, "")
	return hpack.AppendLiteralPrefix(nil, hpack.Without, index, name)
}
