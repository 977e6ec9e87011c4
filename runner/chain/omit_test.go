package chain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// TestOmitEmpty: a header field whose value is empty is not sent by HTTP/2, HTTP/1.1 or a message.
func TestOmitEmpty(t *testing.T) {
	captured := rv.Text{{Capture: 1}}
	p := lifeCycle()
	p.Chains = []rv.Chain{{Name: "c", Weight: 1, Captures: []string{"x"}, Steps: []rv.Step{{
		Name: "a", Method: "GET", Path: lit("/a"), Timeout: 1, Headers: []rv.Header{
			{Name: lit("first"), Value: captured},
			{Name: lit("omitted"), Value: captured, OmitEmpty: true},
			{Name: lit("X-Two"), Value: rv.Text{{Capture: 1}, {Capture: 1, Functions: []rv.Function{{Name: rv.FunctionUpper}}}}, OmitEmpty: true},
			{Name: lit("never"), Value: lit(""), OmitEmpty: true},
			{Name: lit("constant"), Value: lit("c"), OmitEmpty: true},
			{Name: lit("mixed"), Value: rv.Text{{Literal: "m"}, {Capture: 1}}, OmitEmpty: true},
		},
	}}}}
	g := program(t, p)
	e := &g.Targets[0].Endpoints[0]
	enc, head, s := NewEncoder(g, 0, e), NewHead(g, 0, e, true), &g.Steps[0]
	for value, want := range map[string][]string{
		"":  {"first: ", "constant: c", "mixed: m", "user-agent: h2surge"},
		"v": {"first: v", "omitted: v", "x-two: vV", "constant: c", "mixed: mv", "user-agent: h2surge"},
	} {
		var in Instance
		in.Start(g, 0, sources(g), 0)
		in.Capture(0, []byte(value))
		for _, state := range []TableState{Static, 0} {
			block, _ := enc.AppendHeaders(nil, s, &in, 0, state, nil)
			if diff := cmp.Diff(want, decoded(t, block)[4:]); diff != "" {
				t.Errorf("%q, HTTP/2 in state %d (-want +got):\n%s", value, state, diff)
			}
		}
		lines := strings.Split(string(head.AppendHead(nil, s, &in, 0, nil)), "\r\n")
		if diff := cmp.Diff(append(want, "", ""), lines[2:]); diff != "" {
			t.Errorf("%q, HTTP/1.1 (-want +got):\n%s", value, diff)
		}
		var m message.Message
		s.RenderMessage(&m, nil, &in, e, nil, nil)
		if diff := cmp.Diff(want, fieldsOf(&m)[4:]); diff != "" {
			t.Errorf("%q, message (-want +got):\n%s", value, diff)
		}
	}
	p.Chains[0].Steps[0].Headers = []rv.Header{{Name: captured, Value: captured, OmitEmpty: true}}
	if _, err := Load(p, Resources{}); err == nil || !strings.Contains(err.Error(), "omitEmpty") {
		t.Errorf("a name with placeholders: %v", err)
	}
}

// TestOmitEmptyCookie: over HTTP/1.1, a request with the cookies of its instance has one cookie field also if the template has
// a cookie field that can be omitted (RFC 6265 5.4).
func TestOmitEmptyCookie(t *testing.T) {
	p := lifeCycle()
	p.Chains = []rv.Chain{{Name: "c", Weight: 1, Cookies: true, Captures: []string{"x"}, Steps: []rv.Step{{
		Name: "a", Method: "GET", Path: lit("/a"), Timeout: 1, Headers: []rv.Header{{Name: lit("cookie"), Value: rv.Text{{Capture: 1}}, OmitEmpty: true}},
	}}}}
	g := program(t, p)
	head := NewHead(g, 0, &g.Targets[0].Endpoints[0], true)
	for _, tt := range []struct{ own, cookies, want string }{
		{"", "", ""},
		{"own=1", "", "cookie: own=1"},
		{"", "a=b", "cookie: a=b"},
		{"own=1", "a=b", "cookie: own=1; a=b"},
	} {
		var in Instance
		in.Start(g, 0, sources(g), 0)
		in.Capture(0, []byte(tt.own))
		got := ""
		for _, line := range strings.Split(string(head.AppendHead(nil, &g.Steps[0], &in, 0, []byte(tt.cookies))), "\r\n") {
			if strings.HasPrefix(line, "cookie") {
				got += line
			}
		}
		if got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.own, tt.cookies, got, tt.want)
		}
	}
}
