package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/convert"
	"github.com/h2surge/h2surge/internal/lazy"
)

// operation is one of the description.
type operation struct {
	method, path, id string
	// name is what its template is called.
	name string
	in   value
	// parameters are those of the path and its own.
	parameters []value
	// callbacks are those whose URI is a value of the body.
	callbacks []callback
	// await is the step that awaits the first callback, if the body has its URI.
	await *v1alpha1.Step
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// list finds the operations, in the order of the document.
func (c *converter) list() {
	paths := c.get(c.root, "paths")
	for _, path := range paths.names() {
		item, ok := c.follow(paths.raw(path))
		if !ok || !strings.HasPrefix(path, "/") {
			continue
		}
		for _, key := range item.names() {
			if in := item.raw(key); slices.Contains(methods, key) && in.is() {
				c.add(strings.ToUpper(key), path, in, item)
			}
		}
	}
	if c.root.raw("webhooks").is() {
		c.Warn("webhooks", "are requests to us, and left out")
	}
}

func (c *converter) add(method, path string, in, item value) {
	op := &operation{method: method, path: path, id: in.raw("operationId").text(), in: in}
	op.name = dashed(op.id)
	if op.id == "" {
		op.name = convert.DashName(method + "-" + path)
	}
	seen := map[string]bool{}
	for _, list := range []value{in.raw("parameters"), item.raw("parameters")} {
		for _, p := range list.items() {
			p, ok := c.follow(p)
			key := p.raw("in").text() + " " + p.raw("name").text()
			if ok && !seen[key] {
				seen[key] = true
				op.parameters = append(op.parameters, p)
			}
		}
	}
	if in.raw("servers").is() || item.raw("servers").is() {
		c.Warn(place(method, path), "servers of its own are left out")
	}
	c.operations = append(c.operations, op)
}

// dashed parts the words of a name such as postAppSessions.
func dashed(id string) string {
	var b strings.Builder
	for i := range len(id) {
		if i > 0 && 'A' <= id[i] && id[i] <= 'Z' && 'a' <= id[i-1] && id[i-1] <= 'z' {
			b.WriteByte('-')
		}
		b.WriteByte(id[i])
	}
	return convert.DashName(b.String())
}

// template makes one and returns its name. captures: it is in a chain of a resource; item: behind the
// POST. first: it is the first request of its chain.
func (c *converter) template(op *operation, captures, item, first bool) string {
	if first {
		c.created, c.createdMarkers = nil, &markers{}
	}
	i := len(c.Spec().Templates)
	at := fmt.Sprintf("spec.templates[%d]", i)
	c.Origin(at, place(op.method, op.path))
	t := v1alpha1.Template{Name: c.Unique("template", op.name), Request: v1alpha1.Request{Method: op.method,
		Path: c.path(op, item)}}
	c.parameters(&t, at, op)
	op.callbacks = c.callbacks(op)
	c.body(&t, at, op)
	if status := c.statuses(op); len(status) > 0 {
		t.Expect = &v1alpha1.Expect{Status: convert.Statuses(status...)}
		if c.o.Check {
			c.check(&t, at, op)
		}
	}
	if captures && !item {
		t.Capture = []v1alpha1.Capture{{Name: c.location, ValueSource: v1alpha1.ValueSource{Header: "location"}}}
	}
	c.Spec().Templates = append(c.Spec().Templates, t)
	return t.Name
}

// path puts variables in place of parameters.
func (c *converter) path(op *operation, item bool) string {
	if item {
		return "${" + c.location + "}" + convert.Literal(convert.EscapePath(op.path[strings.LastIndexByte(op.path, '}')+1:]))
	}
	var b strings.Builder
	rest := op.path
	for {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(convert.Literal(convert.EscapePath(before)))
		name, behind, closed := strings.Cut(after, "}")
		if !found {
			return b.String()
		}
		if !closed {
			c.Fail(place(op.method, op.path), "has a brace that is not closed")
			return b.String()
		}
		b.WriteString(c.placeholder(op, name))
		rest = behind
	}
}

// variable of a path parameter: operations share it by its name.
func (c *converter) variable(op *operation, name string) string {
	if our := c.variables[name]; our != "" {
		return our
	}
	our := c.Unique("variable", convert.WordName(name))
	c.variables[name] = our
	var parameter value
	for _, p := range op.parameters {
		if p.raw("in").text() == "path" && p.raw("name").text() == name {
			parameter = p
		}
	}
	v, invented := c.parameterValue(parameter)
	made := cmp.Or(simple(parameter, v, escape), "1")
	at := fmt.Sprintf("spec.variables[%d]", len(c.Spec().Variables))
	c.Origin(at, place(op.method, op.path))
	if column := subscriberColumn(plainText(v)); column != "" && invented {
		c.columns[our] = column
		c.WarnAt(at, name, "the values are %d subscribers of the test network 00101; put those of your network in their place", manySubscribers)
		c.Spec().Variables = append(c.Spec().Variables, v1alpha1.Variable{Name: our,
			Subscribers: &v1alpha1.Subscribers{Count: manySubscribers}})
		return our
	}
	if c.varied[name] {
		c.Spec().Variables = append(c.Spec().Variables, c.id(at, name, our, c.schemaOf(parameter), plainText(v)))
		return our
	}
	if invented {
		c.WarnAt(at, name, "the value is made from the schema; put real ones in its place, as a range, list or csv")
	}
	c.Spec().Variables = append(c.Spec().Variables, v1alpha1.Variable{Name: our,
		Constant: &v1alpha1.Constant{Value: new(made)}})
	return our
}

// parameters adds those that are required to query and headers.
func (c *converter) parameters(t *v1alpha1.Template, at string, op *operation) {
	separator := "?"
	var cookies []string
	for _, p := range op.parameters {
		name := p.raw("name").text()
		if !p.raw("required").yes() || name == "" {
			continue
		}
		v, _ := c.parameterValue(p)
		switch p.raw("in").text() {
		case "query":
			if made := strings.Join(pairs(p, name, v, escape), "&"); made != "" {
				t.Path += separator + convert.Literal(made)
				separator = "&"
			}
		case "header":
			lower := strings.ToLower(name)
			if lower == "accept" || lower == "content-type" || lower == "authorization" {
				continue // said elsewhere
			}
			text := convert.Literal(simple(p, v, asIs))
			if h, ok := c.Header(at+".headers", place(op.method, op.path), lower, text); ok {
				t.Headers = append(t.Headers, h)
			}
		case "cookie":
			cookies = append(cookies, pairs(p, name, v, asIs)...)
		}
	}
	if len(cookies) > 0 {
		t.Headers = append(t.Headers, v1alpha1.Header{Name: "cookie",
			Value: new(convert.Literal(strings.Join(cookies, "; ")))})
	}
}

// body makes the content of the first media type that there is a way to write.
func (c *converter) body(t *v1alpha1.Template, at string, op *operation) {
	content := c.get(op.in, "requestBody").raw("content")
	kind := mediaType(content.names())
	if kind == "" {
		return
	}
	from := place(op.method, op.path)
	related := relatedType(content.names())
	if related != "" && (c.o.Multipart || related == kind) && c.parts(t, at, op, content.raw(related)) {
		return
	}
	if related != "" && related != kind && !c.o.Multipart {
		c.WarnAt(at, from, "it is sent as %s, without binary parts; --multipart adds them", kind)
	}
	media := content.raw(kind)
	if strings.Contains(kind, "*") {
		kind = "application/json" // is as good as any
	}
	given := c.exampleOf(media)
	made := given
	if made == nil && media.raw("schema").is() {
		paths := wanted(op.callbacks)
		if isPatch(kind) {
			for _, pointer := range patchValues {
				want(paths, pointer)
			}
		}
		made = c.example(media.raw("schema"), paths)
	}
	if made == nil {
		c.WarnAt(at, from, "there is no way to make a body of %s; it is sent without one", kind)
		return
	}
	var body []byte
	switch {
	case isJSON(kind):
		body = made
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		body = form(made, media.raw("encoding"))
	case given != nil:
		body = []byte(plainText(given))
	default:
		c.WarnAt(at, from, "there is no example of %s, which cannot be made from a schema; it is sent without a body", kind)
		return
	}
	t.Headers = append(t.Headers, v1alpha1.Header{Name: "content-type", Value: new(convert.Literal(kind))})
	if !isJSON(kind) {
		c.Body(t, from, "", body)
		return
	}
	if isPatch(kind) && given == nil {
		c.Body(t, from, "", c.patch(at, from, body))
		t.Body = c.createdMarkers.text(t.Body)
		return
	}
	marked, m := c.mark(op, at, body)
	c.Body(t, from, "", marked)
	t.Body = m.text(t.Body)
}

func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	return strings.HasSuffix(strings.TrimSpace(kind), "json")
}

// mediaType prefers JSON, then forms.
func mediaType(names []string) string {
	for _, fits := range []func(string) bool{
		func(n string) bool { return strings.EqualFold(n, "application/json") },
		isJSON,
		func(n string) bool { return strings.HasPrefix(n, "application/x-www-form-urlencoded") },
		func(n string) bool { return !strings.Contains(n, "*") },
		func(n string) bool { return n == "*/*" || n == "application/*" },
	} {
		for _, n := range names {
			if fits(n) {
				return n
			}
		}
	}
	return ""
}

// relatedType returns the name of a multipart/related content, or an empty text.
func relatedType(names []string) string {
	for _, n := range names {
		if strings.HasPrefix(strings.ToLower(n), "multipart/related") {
			return n
		}
	}
	return ""
}

var successCode = lazy.Regexp(`^2([0-9]{2}|[xX]{2})$`)

// statuses are the declared successes, as the description has them.
func (c *converter) statuses(op *operation) (out []string) {
	for _, code := range op.in.raw("responses").names() {
		if successCode().MatchString(code) {
			out = append(out, code)
		}
	}
	return out
}
