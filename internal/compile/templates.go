package compile

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// maxResponseBody bounds maxBodyBytes.
const maxResponseBody = 64 << 20

// request is a parsed template: all that does not depend on the step. What the template does not
// say is empty until it inherits it. Entries of an heir are those of its base, not copies.
type request struct {
	path     *field.Path // spec.templates[i]
	extends  string
	method   string
	target   *text // path and query
	headers  []headerText
	content  *content
	timeout  time.Duration
	expect   expectation
	expects  bool
	captures []*capture
	maxBody  int
	script   *rv.Script

	used     bool // by some chain
	extended bool // by some template
}

func (c *compiler) templates() {
	path := field.NewPath("spec", "templates")
	c.items(path, len(c.spec.Templates), 1, 256)
	c.templateIndex = map[string]int{}
	c.captured = map[string]bool{}
	for i := range c.spec.Templates {
		for _, capture := range c.spec.Templates[i].Capture {
			c.captured[capture.Name] = true
		}
	}
	for i := range c.spec.Templates {
		t := &c.spec.Templates[i]
		at := path.Index(i)
		c.dashName(at.Child("name"), t.Name)
		c.unique(at.Child("name"), c.templateIndex, t.Name, i)
		c.requests = append(c.requests, c.request(at, t))
	}
	c.inherit()
	sent := c.sent()
	for i := range c.requests {
		r := &c.requests[i]
		if r.extended && !sent[c.spec.Templates[i].Name] {
			continue // it need not be whole
		}
		c.whole(r)
	}
}

// request parses what a template says itself.
func (c *compiler) request(at *field.Path, t *v1alpha1.Template) request {
	r := request{
		path:     at,
		extends:  t.Extends,
		method:   t.Method,
		headers:  c.headers(at.Child("headers"), t.Headers),
		content:  c.body(at, t),
		captures: c.captures(at.Child("capture"), t.Capture),
	}
	if t.Method != "" {
		c.method(at.Child("method"), t.Method)
	}
	if t.Path != "" {
		r.target = c.requestTarget(at.Child("path"), t.Path)
	}
	if t.Timeout != nil {
		r.timeout = c.duration(at.Child("timeout"), t.Timeout, timeoutSpan)
	}
	if t.Expect != nil {
		r.expects, r.expect = true, c.expect(at.Child("expect"), t.Expect)
	}
	if t.MaxBodyBytes != nil {
		between(c, at.Child("maxBodyBytes"), *t.MaxBodyBytes, 1, maxResponseBody)
		r.maxBody = int(*t.MaxBodyBytes)
	}
	if t.Script != nil {
		r.script = c.script(at.Child("script"), t.Script)
	}
	return r
}

// sent are the names of the templates that chains send.
func (c *compiler) sent() map[string]bool {
	out := map[string]bool{}
	for _, chain := range c.spec.Chains {
		for _, s := range chain.Steps {
			out[s.Template] = true
			for _, p := range s.Parallel {
				out[p.Template] = true
			}
		}
	}
	return out
}

// inherit gives each template what it does not have itself and its base has.
func (c *compiler) inherit() {
	done := make([]bool, len(c.requests))
	for i := range c.requests {
		c.inheritInto(i, nil, done)
	}
}

// inheritInto makes template i whole, its base first. heirs are those that wait for it.
func (c *compiler) inheritInto(i int, heirs []int, done []bool) {
	r := &c.requests[i]
	if done[i] {
		return
	}
	done[i] = true
	if r.extends == "" {
		return
	}
	at := r.path.Child("extends")
	base, known := c.templateIndex[r.extends]
	heirs = append(heirs, i)
	switch {
	case !known:
		c.missing(at, "template", r.extends)
	case slices.Contains(heirs, base):
		c.fail(at, "template %q extends itself in the end; one of them must have no base", r.extends)
	default:
		c.inheritInto(base, heirs, done)
		c.requests[base].extended = true
		r.take(&c.requests[base])
		c.items(r.path.Child("headers"), len(r.headers), 0, maxHeaders)
		c.items(r.path.Child("capture"), len(r.captures), 0, maxCaptures)
	}
}

// take takes from base what r does not have.
func (r *request) take(base *request) {
	r.method = cmp.Or(r.method, base.method)
	r.target = cmp.Or(r.target, base.target)
	r.content = cmp.Or(r.content, base.content)
	r.timeout = cmp.Or(r.timeout, base.timeout)
	r.maxBody = cmp.Or(r.maxBody, base.maxBody)
	r.script = cmp.Or(r.script, base.script)
	if !r.expects {
		r.expects, r.expect = base.expects, base.expect
	}
	r.headers = slices.Concat(slices.DeleteFunc(slices.Clone(base.headers), func(theirs headerText) bool {
		return slices.ContainsFunc(r.headers, func(own headerText) bool { return own.written == theirs.written })
	}), r.headers)
	r.captures = slices.Concat(slices.DeleteFunc(slices.Clone(base.captures), func(theirs *capture) bool {
		return slices.ContainsFunc(r.captures, func(own *capture) bool { return own.name == theirs.name })
	}), r.captures)
}

// whole puts defaults where nothing is inherited, and checks what only the whole shows.
func (c *compiler) whole(r *request) {
	r.method = cmp.Or(r.method, http.MethodGet)
	r.timeout = cmp.Or(r.timeout, defaultTimeout)
	if r.target == nil {
		r.target = c.requestTarget(r.path.Child("path"), "/")
	}
	if r.target.isAsterisk() && r.method != http.MethodOptions {
		c.fail(r.target.path, "* goes with the method OPTIONS only")
	}
	if r.script != nil || r.content != nil && r.content.from != nil && !r.content.from.Raw {
		c.hidden = true
	}
}

func (c *compiler) method(path *field.Path, method string) {
	switch upper := strings.ToUpper(method); {
	case !c.length(path, method, 32):
	case !isToken(method):
		c.fail(path, "must be a token such as GET (RFC 9110 9.1)")
	case upper == http.MethodConnect:
		c.fail(path, "CONNECT opens a tunnel and is no request that can be answered and measured")
	case upper != method && isToken(method):
		c.warn(path, "methods are case-sensitive, and this one is not all upper case")
	}
}

// requestTarget parses the path and query of a template.
func (c *compiler) requestTarget(path *field.Path, s string) *text {
	if !c.length(path, s, maxText) {
		return &text{path: path}
	}
	out := c.text(path, s, validPath, "a path (white space, control and non-ASCII characters and # must be percent-encoded)")
	switch {
	case len(out.pieces) == 0: // not parsed, reported already
	case out.isAsterisk():
	case !c.beginsLikeAPath(out.pieces):
		c.fail(path, "must begin with / or with a capture")
	}
	return &out
}

func (t *text) isAsterisk() bool { return len(t.pieces) == 1 && t.pieces[0].Literal == "*" }
