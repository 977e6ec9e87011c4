package compile

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

// text is a parsed text and where it stands.
type text struct {
	path   *field.Path
	pieces []piece
	// valid says which values may be inserted and stand in literals; nil: all.
	valid func(string) bool
	// place is what valid is about, for messages.
	place string
}

// request is a parsed template: all that does not depend on the chain.
type request struct {
	path     *field.Path
	method   string
	target   text // path and query
	headers  []headerText
	body     text
	timeout  time.Duration
	expect   runnerv1alpha1.Expect
	captures []v1alpha1.Capture
	used     bool // by some chain
}

type headerText struct {
	name  string // lower case
	value text
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
}

func (c *compiler) request(at *field.Path, t *v1alpha1.Template) request {
	r := request{
		path:     at,
		method:   t.Method,
		target:   c.requestTarget(at.Child("path"), t),
		headers:  c.headers(at.Child("headers"), t.Headers),
		timeout:  c.duration(at.Child("timeout"), t.Timeout, timeoutSpan),
		captures: c.captures(at.Child("capture"), t.Capture),
	}
	c.method(at.Child("method"), t.Method)
	if c.length(at.Child("body"), t.Body, maxBody) {
		r.body = c.text(at.Child("body"), t.Body, nil, "")
	}
	if t.Expect != nil {
		r.expect = c.expect(at.Child("expect", "status"), t.Expect.Status)
	}
	return r
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
func (c *compiler) requestTarget(path *field.Path, t *v1alpha1.Template) text {
	if !c.length(path, t.Path, maxText) {
		return text{}
	}
	out := c.text(path, t.Path, validPath, "a path (white space, control and non-ASCII characters and # must be percent-encoded)")
	switch {
	case len(out.pieces) == 0: // not parsed, reported already
	case t.Path == "*" && t.Method == http.MethodOptions:
	case t.Path == "*":
		c.fail(path, "* goes with the method OPTIONS only")
	case !c.beginsLikeAPath(out.pieces[0]):
		c.fail(path, "must begin with / or with a capture")
	}
	return out
}

// beginsLikeAPath accepts "/...", a capture, and a list variable all of whose values begin with
// a slash. An unknown name, and one that is both, is reported elsewhere.
func (c *compiler) beginsLikeAPath(first piece) bool {
	if first.name == "" {
		return strings.HasPrefix(first.literal, "/")
	}
	i, isVariable := c.variableIndex[first.name]
	if !isVariable || c.captured[first.name] {
		return true
	}
	list := c.plan.Variables[i].List
	for _, value := range list {
		if !strings.HasPrefix(value, "/") {
			return false
		}
	}
	return len(list) > 0
}

func (c *compiler) headers(path *field.Path, headers []v1alpha1.Header) []headerText {
	c.items(path, len(headers), 0, 64)
	var out []headerText
	for i, h := range headers {
		at := path.Index(i)
		name := strings.ToLower(h.Name)
		if !c.length(at.Child("name"), h.Name, maxHeaderName) || !c.length(at.Child("value"), valueOf(h), maxText) {
			continue
		}
		if problem := headerProblem(name, valueOf(h)); problem != "" {
			c.fail(at.Child("name"), "%s", problem)
		}
		if v := valueOf(h); v != "" && (isBlank(v[0]) || isBlank(v[len(v)-1])) {
			c.fail(at.Child("value"), "must not begin or end with white space (RFC 9113 8.2.1)")
		}
		value := c.text(at.Child("value"), valueOf(h), validFieldValue, "a header (no CR, LF, NUL or other control character)")
		out = append(out, headerText{name: name, value: value})
	}
	return out
}

func (c *compiler) captures(path *field.Path, captures []v1alpha1.Capture) []v1alpha1.Capture {
	c.items(path, len(captures), 0, 16)
	index := map[string]int{}
	for i := range captures {
		at, capture := path.Index(i), &captures[i]
		c.identName(at.Child("name"), capture.Name)
		c.unique(at.Child("name"), index, capture.Name, i)
		if _, taken := c.variableIndex[capture.Name]; taken {
			c.fail(at.Child("name"), "%q is the name of a variable too", capture.Name)
		}
		switch header := at.Child("header"); {
		case capture.Header == "":
			c.fail(header, "is needed")
		case !c.length(header, capture.Header, maxHeaderName):
		case !isToken(capture.Header):
			c.fail(header, "must be a token: letters, digits and !#$%%&'*+-.^_`|~ (RFC 9110 5.6.2)")
		}
	}
	return captures
}

func (c *compiler) expect(path *field.Path, status []string) (out runnerv1alpha1.Expect) {
	c.items(path, len(status), 0, 32)
	index := map[string]int{}
	for i, s := range status {
		at := path.Index(i)
		r, ok := statusRange(s)
		if !ok {
			c.fail(at, "must be a status code such as 201 or a class such as 2xx")
			continue
		}
		c.unique(at, index, s, i)
		out.Status = append(out.Status, r)
	}
	return out
}

// statusRange reads "201" and "2xx". 1xx are accepted for the sake of the pattern, though no
// final response has one.
func statusRange(s string) (r runnerv1alpha1.StatusRange, ok bool) {
	if len(s) != 3 || s[0] < '1' || s[0] > '5' {
		return r, false
	}
	if s[1:] == "xx" {
		from := int(s[0]-'0') * 100
		return runnerv1alpha1.StatusRange{From: from, To: from + 99}, true
	}
	code, err := strconv.ParseUint(s, 10, 16)
	return runnerv1alpha1.StatusRange{From: int(code), To: int(code)}, err == nil
}

// text parses a text and checks its literals and the names in it. A text that cannot be parsed
// has no pieces.
func (c *compiler) text(path *field.Path, s string, valid func(string) bool, place string) text {
	out := text{path: path, valid: valid, place: place}
	pieces, err := parseText(s)
	if err != nil {
		c.fail(path, "%s", err.Error())
		return out
	}
	out.pieces = pieces
	for _, p := range pieces {
		if p.name == "" {
			if valid != nil && !valid(p.literal) {
				c.fail(path, "has a character that is not possible in %s", place)
			}
			continue
		}
		c.reference(out, p.name)
	}
	return out
}

// reference checks a name that a text reads: a capture is resolved chain by chain, a variable's
// values must be possible where the text stands.
func (c *compiler) reference(t text, name string) {
	i, isVariable := c.variableIndex[name]
	if !isVariable {
		if !c.captured[name] {
			c.fail(t.path, "variable %q is not defined", name)
		}
		return
	}
	c.variableRead[name] = true
	for j, value := range c.plan.Variables[i].List {
		if t.valid != nil && !t.valid(value) {
			c.fail(t.path, "variable %q: its value number %d has a character that is not possible in %s", name, j, t.place)
			return
		}
	}
}

func valueOf(h v1alpha1.Header) string {
	if h.Value == nil {
		return ""
	}
	return *h.Value
}
