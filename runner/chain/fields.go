package chain

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// fieldKind says where a request field's value comes from.
type fieldKind uint8

const (
	fieldText      fieldKind = iota // the plan
	fieldScheme                     // the endpoint
	fieldAuthority                  // the endpoint
	fieldPath                       // the endpoint's base path, then the plan
	fieldLength                     // the length of the body with holes
)

// fieldSource is a request header field before the endpoint is known.
type fieldSource struct {
	name  string
	kind  fieldKind
	value text
}

// UserAgent is sent unless the template has a user-agent of its own (RFC 9110 10.1.5).
const UserAgent = "h2surge"

// requestFields lists the fields of a step in the order in which they are sent: pseudo-header
// fields first (RFC 9113 8.3), content-length last.
func requestFields(in *rv.Step, b *textBuilder, body text) ([]fieldSource, error) {
	if !httpguts.ValidHeaderFieldName(in.Method) {
		return nil, fmt.Errorf("method: %q is no token", in.Method)
	}
	path, err := b.build(in.Path)
	if err != nil {
		return nil, fmt.Errorf("path%w", err)
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("path: empty")
	}
	out := []fieldSource{
		{name: ":method", value: text{}.join(in.Method)},
		{name: ":scheme", kind: fieldScheme},
		{name: ":authority", kind: fieldAuthority},
		{name: ":path", kind: fieldPath, value: path},
	}
	agent := false
	for i, h := range in.Headers {
		name, err := b.name(h.Name)
		if err != nil {
			return nil, fmt.Errorf("headers[%d].name%w", i, err)
		}
		value, err := b.build(h.Value)
		if err != nil {
			return nil, fmt.Errorf("headers[%d].value%w", i, err)
		}
		agent = agent || name == "user-agent"
		out = append(out, fieldSource{name: name, value: value})
	}
	if !agent {
		out = append(out, fieldSource{name: "user-agent", value: text{}.join(UserAgent)})
	}
	return appendLength(out, in.Method, body), nil
}

// name is the name of a header field.
func (b *textBuilder) name(in rv.Text) (string, error) {
	t, err := b.build(in)
	if err != nil {
		return "", err
	}
	name := strings.ToLower(t.literal())
	if !httpguts.ValidHeaderFieldName(name) {
		return "", fmt.Errorf(": %q is no token", name)
	}
	return name, nil
}

// appendLength adds content-length where there is a body, and where the method's meaning makes
// one expected (RFC 9110 8.6).
func appendLength(out []fieldSource, method string, body text) []fieldSource {
	expected := method == "POST" || method == "PUT" || method == "PATCH"
	switch {
	case !body.constant():
		return append(out, fieldSource{name: "content-length", kind: fieldLength})
	case len(body) > 0 || expected:
		n := strconv.Itoa(len(body.literal()))
		return append(out, fieldSource{name: "content-length", value: text{}.join(n)})
	}
	return out
}

// at resolves the field for an endpoint.
func (f *fieldSource) at(e *rv.Endpoint) text {
	switch f.kind {
	case fieldScheme:
		return text{}.join(e.Scheme)
	case fieldAuthority:
		return text{}.join(e.Authority)
	case fieldPath:
		// A path that begins with a captured value is the peer's own and complete.
		if f.value[0].capture > 0 || e.BasePath == "" {
			return f.value
		}
		joined := text{}.join(e.BasePath)
		for _, p := range f.value {
			if p.literal != nil {
				joined = joined.join(string(p.literal))
			} else {
				joined = append(joined, p)
			}
		}
		return joined
	}
	return f.value
}
