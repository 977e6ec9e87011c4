package chain

import (
	"strconv"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/octet"
	"github.com/h2surge/h2surge/runner/fiveg"
)

// fieldKind is the origin of the value of a request field.
type fieldKind uint8

const (
	fieldText      fieldKind = iota // the plan
	fieldScheme                     // the endpoint
	fieldAuthority                  // the endpoint
	fieldPath                       // the endpoint's base path, then the plan
	fieldLength                     // the length of the body with placeholders
)

// fieldSource is a request header field before the endpoint is known.
type fieldSource struct {
	name string
	// nameText is the name, instead of name, if it has placeholders.
	nameText text
	kind     fieldKind
	value    text
	// omitEmpty omits the field from requests in which value is empty.
	omitEmpty bool
	// complete: the base path of the endpoint does not come before value.
	complete bool
}

// UserAgent is sent unless the template has a user-agent of its own (RFC 9110 10.1.5).
const UserAgent = "h2surge"

// fields lists the fields of a step in the order in which they are sent: pseudo-header
// fields first (RFC 9113 8.3), content-length last. contentType is that of a body with parts, or empty.
func (b *builder) fields(in *rv.Step, body text, contentType string) []fieldSource {
	if !octet.IsToken(in.Method) {
		b.in("method")
		b.failf("%q is not a token", in.Method)
	}
	b.in("path")
	path := b.build(in.Path)
	if len(path) == 0 {
		b.failf("empty")
	}
	out := []fieldSource{
		{name: ":method", value: literalText(in.Method)},
		{name: ":scheme", kind: fieldScheme},
		{name: ":authority", kind: fieldAuthority},
		{name: ":path", kind: fieldPath, value: path, complete: len(in.Authority) > 0},
	}
	has := map[string]bool{}
	for i := range in.Headers {
		b.item("headers", i)
		f := b.header(&in.Headers[i])
		has[f.name] = true
		if f.omitEmpty && f.value.constant() {
			if f.omitEmpty = false; len(f.value.literal()) == 0 {
				continue
			}
		}
		out = append(out, f)
	}
	if contentType != "" {
		if has["content-type"] {
			b.in("headers")
			b.failf("content-type is set from the parts")
		}
		out = append(out, fieldSource{name: "content-type", value: literalText(contentType)})
	}
	if in.GRPC != nil {
		out = append(out, callFields(in, has)...)
	}
	if !has["user-agent"] {
		out = append(out, fieldSource{name: "user-agent", value: literalText(UserAgent)})
	}
	out = append(out, b.g.credentialFields(in.Target, has)...)
	if in.GRPC != nil && len(in.GRPC.Waits) > 0 { // its end is sent early if the response ends first
		return out
	}
	return appendLength(out, in.Method, body)
}

func (b *builder) header(h *rv.Header) fieldSource {
	name := b.build(h.Name)
	f := fieldSource{value: b.build(h.Value), omitEmpty: h.OmitEmpty}
	if !name.constant() {
		if f.nameText = name; h.OmitEmpty {
			b.failf("omitEmpty: the name has placeholders")
		}
		return f
	}
	lowered := []byte(name.literal())
	octet.ToLower(lowered)
	if f.name = string(lowered); !octet.IsToken(f.name) {
		b.failf("name: %q is not a token", f.name)
	}
	return f
}

// appendLength adds content-length if there is a body or if the method usually has one (RFC 9110 8.6).
func appendLength(out []fieldSource, method string, body text) []fieldSource {
	switch {
	case !body.constant():
		return append(out, fieldSource{name: "content-length", kind: fieldLength})
	case len(body) > 0 || expectsContent(method):
		n := strconv.Itoa(len(body.literal()))
		return append(out, fieldSource{name: "content-length", value: literalText(n)})
	}
	return out
}

func expectsContent(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

// at returns the value of the field for an endpoint.
func (f *fieldSource) at(e *rv.Endpoint) text {
	switch f.kind {
	case fieldScheme:
		return literalText(e.Scheme)
	case fieldAuthority:
		return literalText(e.Authority)
	case fieldPath:
		if f.complete || f.value.complete() {
			return f.value
		}
		joined := literalText(e.BasePath)
		for _, p := range f.value {
			joined = joined.add(p)
		}
		return joined
	}
	return f.value
}

// complete reports whether a path does not get the base path of the endpoint: a path that begins with a captured value
// comes from the peer and includes the base path, and the * of OPTIONS refers to the whole server (RFC 9110 9.3.7).
func (t text) complete() bool {
	switch t[0].kind {
	case pieceCapture, pieceGlobal:
		return true
	case pieceLiteral:
		return len(t) == 1 && string(t[0].literal) == "*"
	}
	return false
}

// secret fields must not be indexed, also not by proxies (RFC 7541 7.1.3).
func secret(name string) bool {
	return name == authorizationName || name == "cookie" || name == "proxy-authorization" ||
		name == fiveg.ClientCredentials
}
