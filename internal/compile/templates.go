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
	"github.com/h2surge/h2surge/internal/octet"
)

// request is a parsed request of a template or of a step, without what depends on the chain.
// A field that the request does not set is empty until inherit takes it from the template that it extends.
// The entries of headers and captures are then those of that template, not copies.
type request struct {
	path    *field.Path // spec.templates[i] or spec.chains[i].steps[j].request
	extends string
	// operation is the name of the service operation.
	operation string
	method    string
	target    *text // path and query
	headers   []headerText
	content   *content
	call      *call
	timeout   time.Duration
	expect    expectation
	expects   bool
	captures  []*capture
	maxBody   int
	// maxRedirects is nil if the request does not set it.
	maxRedirects *int32
	script       *rv.Script
	scriptPath   *field.Path
	key          text // of a step with await

	used      bool // by a step
	extended  bool // by another request
	inherited bool // inherit has begun with it
}

// templates parses all requests: those of spec.templates first, then those of the steps.
func (c *compiler) templates() {
	path := specPath.Child("templates")
	c.templateIndex = map[string]int{}
	c.captured = map[string]bool{}
	c.usims = usims{variables: map[string]bool{}, read: map[string]bool{}}
	eachAwait(c.spec, func(_ *field.Path, in *v1alpha1.Await) {
		for i := range in.Capture {
			c.captured[in.Capture[i].Name] = true
		}
	})
	for i := range c.spec.Templates {
		c.declare(&c.spec.Templates[i].Request)
	}
	eachInline(c.spec, func(_ *field.Path, in *v1alpha1.Request) { c.declare(in) })
	for i := range c.spec.Templates {
		t := &c.spec.Templates[i]
		c.templateIndex[t.Name] = i
		c.requests = append(c.requests, c.request(path.Index(i), &t.Request))
	}
	c.inline = map[*v1alpha1.Request]*request{}
	eachInline(c.spec, func(at *field.Path, in *v1alpha1.Request) {
		r := c.request(at, in)
		r.used = true
		c.inline[in] = r
		c.requests = append(c.requests, r)
	})
	for _, r := range c.requests {
		c.inherit(r, nil)
	}
	c.awaits = map[*v1alpha1.Await]*request{}
	eachAwait(c.spec, func(at *field.Path, in *v1alpha1.Await) { c.awaits[in] = c.awaitRequest(at, in) })
	sent := c.sent()
	for i, r := range c.requests {
		if r.extended && !sent[c.spec.Templates[i].Name] {
			continue // a template that is only extended may lack fields
		}
		c.whole(r)
	}
}

// eachInline visits the requests that steps have themselves, in the order of the spec.
func eachInline(spec *v1alpha1.LoadTestSpec, visit func(at *field.Path, in *v1alpha1.Request)) {
	path := specPath.Child("chains")
	for i := range spec.Chains {
		for j := range spec.Chains[i].Steps {
			if in := spec.Chains[i].Steps[j].Request; in != nil {
				visit(path.Index(i).Child("steps").Index(j).Child("request"), in)
			}
		}
	}
}

// eachAwait visits the notifications that steps wait for, in the order of the spec.
func eachAwait(spec *v1alpha1.LoadTestSpec, visit func(at *field.Path, in *v1alpha1.Await)) {
	path := specPath.Child("chains")
	for i := range spec.Chains {
		for j := range spec.Chains[i].Steps {
			if in := spec.Chains[i].Steps[j].Await; in != nil {
				visit(path.Index(i).Child("steps").Index(j).Child("await"), in)
			}
		}
	}
}

// declare stores the names of the captures of a request, and the variable that answers its challenge.
func (c *compiler) declare(in *v1alpha1.Request) {
	c.usims.declare(in.Expect)
	for i := range in.Capture {
		c.captured[in.Capture[i].Name] = true
	}
}

// request parses the fields that a request sets itself.
func (c *compiler) request(at *field.Path, t *v1alpha1.Request) *request {
	r := &request{
		path:      at,
		extends:   t.Extends,
		operation: t.Operation,
		method:    t.Method,
		headers:   append(c.headers(at.Child("headers"), t.Headers), c.priority(at, t)...),
		content:   c.body(at, t),
		call:      c.call(at.Child("grpc"), t.GRPC),
		captures:  c.captures(at.Child("capture"), t.Capture),

		maxRedirects: t.MaxRedirects,
	}
	if t.Method != "" {
		c.method(at.Child("method"), t.Method)
	}
	if t.Path != "" {
		r.target = c.requestTarget(at.Child("path"), t.Path)
	}
	if t.Timeout != nil {
		r.timeout = t.Timeout.Duration
	}
	if t.Expect != nil {
		r.expects, r.expect = true, c.expect(at.Child("expect"), t.Expect)
		c.neverLast(at.Child("expect", "status"), t)
	}
	if t.MaxBodyBytes != nil {
		r.maxBody = int(*t.MaxBodyBytes)
	}
	if t.Script != nil {
		r.script, r.scriptPath = c.script(at.Child("script"), t.Script)
	}
	return r
}

// neverLast warns about expected statuses that a request never has, because it follows the redirect.
func (c *checker) neverLast(at *field.Path, t *v1alpha1.Request) {
	if t.MaxRedirects == nil || *t.MaxRedirects == 0 {
		return
	}
	for i, status := range t.Expect.Status {
		if s := status.String(); s == "307" || s == "308" {
			c.warn(at.Index(i), "is never the last status, because maxRedirects follows it")
		}
	}
}

// sent returns the names of the templates that steps name.
func (c *planner) sent() map[string]bool {
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

// inherit fills the fields that a request does not set from the template that it extends, which is
// completed first. heirs are the requests that wait for this one.
func (c *compiler) inherit(r *request, heirs []*request) {
	if r.inherited {
		return
	}
	r.inherited = true
	if r.extends == "" {
		return
	}
	at := r.path.Child("extends")
	i, known := c.templateIndex[r.extends]
	if !known {
		c.missing(at, "template", r.extends)
		return
	}
	base := c.requests[i]
	if heirs = append(heirs, r); slices.Contains(heirs, base) {
		c.fail(at, "template %q extends itself; one template of the cycle must not extend another", r.extends)
		return
	}
	c.inherit(base, heirs)
	base.extended = true
	r.take(base)
	c.total(r.path.Child("headers"), schemaOf("templates.headers"), len(r.headers))
	c.total(r.path.Child("capture"), schemaOf("templates.capture"), len(r.captures))
}

// total checks the number of items of a list together with the inherited ones.
func (c *checker) total(path *field.Path, list *schema, n int) {
	if problem := list.count(n); problem != "" {
		c.fail(path, "%s", problem)
	}
}

// take sets the fields that r does not have to those of base.
func (r *request) take(base *request) {
	r.operation = cmp.Or(r.operation, base.operation)
	r.method = cmp.Or(r.method, base.method)
	r.target = cmp.Or(r.target, base.target)
	r.content = cmp.Or(r.content, base.content)
	r.call = cmp.Or(r.call, base.call)
	r.timeout = cmp.Or(r.timeout, base.timeout)
	r.maxBody = cmp.Or(r.maxBody, base.maxBody)
	r.maxRedirects = cmp.Or(r.maxRedirects, base.maxRedirects)
	r.script, r.scriptPath = cmp.Or(r.script, base.script), cmp.Or(r.scriptPath, base.scriptPath)
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

// whole sets the defaults of fields that are neither set nor inherited, and checks rules between fields.
func (c *compiler) whole(r *request) {
	if r.call != nil {
		c.wholeCall(r)
	}
	r.method = cmp.Or(r.method, http.MethodGet)
	r.timeout = cmp.Or(r.timeout, defaultTimeout)
	if r.target == nil {
		r.target = c.requestTarget(r.path.Child("path"), "/")
	}
	if r.target.isAsterisk() && r.method != http.MethodOptions {
		c.fail(r.target.path, "* goes with the method OPTIONS only")
	}
	if r.script != nil || r.content != nil && r.content.isHidden() {
		c.hidden = true
	}
	if r.content != nil && r.content.parts != nil {
		c.noContentType(r)
	}
}

func (c *checker) method(path *field.Path, method string) {
	switch upper := strings.ToUpper(method); {
	case !octet.IsToken(method):
		c.fail(path, "must be a token such as GET (RFC 9110 9.1)")
	case upper == http.MethodConnect:
		c.fail(path, "CONNECT is not supported: it opens a tunnel instead of getting a response")
	case upper != method:
		c.warn(path, "methods are case-sensitive, and this one is not all upper case")
	}
}

// requestTarget parses the path and query of a template.
func (c *compiler) requestTarget(path *field.Path, s string) *text {
	out := c.text(path, s, validPath,
		"a path (white space, control and non-ASCII characters and # must be percent-encoded)")
	switch {
	case len(out.pieces) == 0: // not parsed, reported already
	case out.isAsterisk():
	case !c.beginsLikeAPath(out.pieces):
		c.fail(path, "must begin with / or with a capture")
	}
	return &out
}

func (t *text) isAsterisk() bool { return len(t.pieces) == 1 && t.pieces[0].Literal == "*" }
