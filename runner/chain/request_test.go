package chain

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// secured is a chain with cookies and a target with an authorization; its second step has its own of both.
func secured() *rv.Plan {
	p := lifeCycle()
	p.Variables = []rv.Variable{
		{Name: "name", List: []string{"X-One", "bad name", "", "Content-Length", "Transfer-Encoding"}},
		{Name: "value", List: []string{"v", "a\r\nb", " x\t", "\n"}},
	}
	p.Targets[0].Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: "/t"}}
	p.Chains = []rv.Chain{{Name: "c", Weight: 1, Cookies: true, Steps: []rv.Step{
		{Name: "a", Method: "GET", Path: lit("/a"), Timeout: 1, Headers: []rv.Header{{Name: rv.Text{{Variable: 1}}, Value: rv.Text{{Variable: 2}}}}},
		{Name: "b", Method: "GET", Path: lit("/b"), Timeout: 1, Headers: []rv.Header{{Name: lit("Authorization"), Value: lit("own")}, {Name: lit("cookie"), Value: lit("own=1")}}},
	}}}
	return p
}

// decoded reads a header block; sensitive fields end in "!".
func decoded(t *testing.T, block []byte) []string {
	t.Helper()
	fields, err := hpack.NewDecoder(MaxTable, nil).DecodeFull(block)
	if err != nil {
		t.Fatalf("%x: %v", block, err)
	}
	var out []string
	for _, f := range fields {
		s := f.Name + ": " + f.Value
		if f.Sensitive {
			s += "!"
		}
		out = append(out, s)
	}
	return out
}

func TestSecretsAndNamesWithPlaceholders(t *testing.T) {
	g := program(t, secured())
	e := &g.Targets[0].Endpoints[0]
	enc, head := NewEncoder(g, 0, e), NewHead(g, 0, e, true)
	src := sources(g)
	pseudo := func(path string) []string {
		return []string{":method: GET", ":scheme: http", ":authority: t.example:80", ":path: /base" + path}
	}
	for _, tt := range []struct {
		token, cookie string
		h2, h1        string
		h2b           []string
	}{
		{"Bearer x", "a=b", "x-one: v", "x-one: v", []string{"authorization: own!", "cookie: own=1!", "user-agent: h2surge", "cookie: a=b!"}},
		{"Bearer x\r\ny: z", "a=b\r\n\r\n", "bad-name: a  b", "bad-name: a  b", []string{"authorization: own!", "cookie: own=1!", "user-agent: h2surge", "cookie: a=b!"}},
		{"", "", "-: x", "-:  x\t", []string{"authorization: own!", "cookie: own=1!", "user-agent: h2surge"}},
		{"", "", "-ontent-length: ", "-ontent-length:  ", []string{"authorization: own!", "cookie: own=1!", "user-agent: h2surge"}},
		{"", "", "-ransfer-encoding: v", "-ransfer-encoding: v", []string{"authorization: own!", "cookie: own=1!", "user-agent: h2surge"}},
	} {
		var in Instance
		in.Start(g, 0, src, 0)
		src.SetCredential(g.Authorization(0), []byte(tt.token))
		want := append(pseudo("/a"), tt.h2, "user-agent: h2surge")
		lines := "GET /base/a HTTP/1.1\r\nhost: t.example:80\r\n" + tt.h1 + "\r\nuser-agent: h2surge\r\n"
		if tt.token != "" {
			clean := strings.ReplaceAll(tt.token, "\r\n", "  ")
			want = append(want, "authorization: "+clean+"!")
			lines += "authorization: " + clean + "\r\n"
		}
		own := "GET /base/b HTTP/1.1\r\nhost: t.example:80\r\nauthorization: own\r\ncookie: own=1"
		if tt.cookie != "" {
			want = append(want, "cookie: a=b!")
			clean := strings.NewReplacer("\r", " ", "\n", " ").Replace(tt.cookie)
			lines += "cookie: " + clean + "\r\n"
			own += "; " + clean
		}
		block, _ := enc.AppendHeaders(nil, &g.Steps[0], &in, 0, 0, []byte(tt.cookie))
		if diff := cmp.Diff(want, decoded(t, block)); diff != "" {
			t.Errorf("h2 (-want +got):\n%s", diff)
		}
		block, _ = enc.AppendHeaders(nil, &g.Steps[1], &in, 0, Static, []byte(tt.cookie))
		if diff := cmp.Diff(append(pseudo("/b"), tt.h2b...), decoded(t, block)); diff != "" {
			t.Errorf("h2, own (-want +got):\n%s", diff)
		}
		if got := string(head.AppendHead(nil, &g.Steps[0], &in, 0, []byte(tt.cookie))); got != lines+"\r\n" {
			t.Errorf("h1: %q, want %q", got, lines)
		}
		if got, want := string(head.AppendHead(nil, &g.Steps[1], &in, 0, []byte(tt.cookie))), own+"\r\nuser-agent: h2surge\r\n\r\n"; got != want {
			t.Errorf("h1, own: %q, want %q", got, want)
		}
	}
}

// TestSecretsAreInNoTable: the peer's table, which grows as blocks come, has nothing secret in it.
func TestSecretsAreInNoTable(t *testing.T) {
	p := secured()
	c := &p.Chains[0]
	c.Steps = append(c.Steps, rv.Step{Name: "c", Method: "GET", Path: lit("/c"), Timeout: 1, Headers: []rv.Header{{Name: lit("x"), Value: lit("y")}, {Name: lit("authorization"), Value: lit("own")}}})
	g := program(t, p)
	src := sources(g)
	src.SetCredential(g.Authorization(0), []byte("token"))
	enc, dec := NewEncoder(g, 0, &g.Targets[0].Endpoints[0]), hpack.NewDecoder(MaxTable, nil)
	var in Instance
	state := enc.Begin(MaxTable)
	for range 3 {
		in.Start(g, 0, src, 0)
		for i := range g.Steps {
			var block []byte
			block, state = enc.AppendHeaders(nil, &g.Steps[i], &in, 0, state, []byte("a=b"))
			fields, err := dec.DecodeFull(block)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range fields {
				if f.Sensitive != (f.Name == "authorization" || f.Name == "cookie") {
					t.Errorf("step %d: %v", i, f)
				}
			}
		}
	}
	if state != 3 {
		t.Errorf("the table is in state %d, want 3", state)
	}
}

// fieldsOf lists a message as decoded does.
func fieldsOf(m *message.Message) []string {
	out := []string{":method: " + string(m.Method), ":scheme: " + string(m.Scheme), ":authority: " + string(m.Authority), ":path: " + string(m.Path)}
	for _, f := range m.Fields {
		out = append(out, string(f.Name)+": "+string(f.Value))
	}
	return out
}

// waiting is a plan with a call of gRPC whose second message waits.
func waiting() *rv.Plan {
	p := lifeCycle()
	p.Targets[0].Protos = []rv.Content{{Text: `syntax = "proto3"; message M {} service S { rpc Up(stream M) returns (M); }`}}
	p.Chains[0].Captures, p.Chains[0].Steps = nil, []rv.Step{{Name: "up", Method: "POST", Path: lit("/S/Up"), Timeout: time.Second,
		GRPC: &rv.GRPC{Service: "S", Method: "Up", Messages: []rv.Text{lit("{}"), lit("{}")}, Waits: []rv.Wait{{Before: 1, Delay: 1}}}}}
	return p
}

// TestMessageIsWhatIsSent: a message has what the header block has, but for content-length and how
// cookies are cut, and renders to it again.
func TestMessageIsWhatIsSent(t *testing.T) {
	for _, p := range []*rv.Plan{secured(), lifeCycle(), waiting()} {
		g := program(t, p)
		e := &g.Targets[0].Endpoints[0]
		enc, head := NewEncoder(g, 0, e), NewHead(g, 0, e, true)
		src := sources(g)
		src.SetCredential(g.Authorization(0), []byte("Bearer x"))
		var m message.Message
		for range 6 {
			var in Instance
			in.Start(g, 0, src, 0)
			for i := range g.Chains[0].Len {
				s := &g.Steps[i]
				if g.Chains[0].Captures > 0 {
					in.Capture(0, []byte("/s/1 2"))
				}
				body := s.AppendBody(nil, &in)
				buf := s.RenderMessage(&m, []byte("before"), &in, e, body, nil)
				if !bytes.HasPrefix(buf, []byte("before")) || string(m.Body) != string(body) {
					t.Errorf("buffer %q, body %q", buf, m.Body)
				}
				block, _ := enc.AppendHeaders(nil, s, &in, len(body), Static, nil)
				want := decoded(t, block)
				if diff := cmp.Diff(want, decoded(t, enc.AppendMessage(nil, &m, len(body)))); diff != "" {
					t.Errorf("step %d of %s (-want +got):\n%s", i, p.Chains[0].Name, diff)
				}
				var unmarked []string
				for _, f := range want {
					if !strings.HasPrefix(f, "content-length: ") {
						unmarked = append(unmarked, strings.TrimSuffix(f, "!"))
					}
				}
				if diff := cmp.Diff(unmarked, fieldsOf(&m)); diff != "" {
					t.Errorf("message of step %d of %s (-want +got):\n%s", i, p.Chains[0].Name, diff)
				}
				if m.Unsized { // which needs HTTP/2
					continue
				}
				sent, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head.AppendMessage(nil, &m, len(body)))))
				if err != nil {
					t.Fatal(err)
				}
				if sent.RequestURI != string(m.Path) || sent.Host != string(m.Authority) || sent.ContentLength != int64(len(body)) {
					t.Errorf("net/http reads %+v", sent)
				}
			}
		}
	}
}

func TestMessageHasOneCookie(t *testing.T) {
	g := program(t, secured())
	var in Instance
	in.Start(g, 0, sources(g), 0)
	var m message.Message
	for i, want := range []string{"a=b", "own=1; a=b"} {
		g.Steps[i].RenderMessage(&m, nil, &in, &g.Targets[0].Endpoints[0], nil, []byte("a=b"))
		if got, _ := m.Header("cookie"); string(got) != want {
			t.Errorf("step %d: %q, want %q", i, got, want)
		}
	}
}

// TestHostileMessages: whatever a script makes, one request comes out of it.
func TestHostileMessages(t *testing.T) {
	g := program(t, lifeCycle())
	e := &g.Targets[0].Endpoints[0]
	b := func(s string) []byte { return []byte(s) }
	m := message.Message{
		Method: b("GET / HTTP/1.1\r\nx:"), Scheme: b("ht tp"), Authority: b("a b\r\n"), Path: b("/x HTTP/1.1\r\n\r\n"),
		Fields: []message.Field{
			{Name: b("content-length"), Value: b("99")}, {Name: b("transfer-encoding"), Value: b("chunked")}, {Name: b("host"), Value: b("evil")},
			{Name: b("connection"), Value: b("x")}, {Name: b("te"), Value: b("gzip")}, {Name: b("te"), Value: b("trailers")},
			{Name: b("x y\r\n"), Value: b("1\r\n\r\nGET / HTTP/1.1\r\n")}, {Name: b(""), Value: b(" v ")}, {Name: b("authorization"), Value: b("s")},
		},
	}
	want := []string{
		":method: GET---HTTP-1.1--x-", ":scheme: ht%20tp", ":authority: a%20b%0D%0A", ":path: /x%20HTTP/1.1%0D%0A%0D%0A",
		"te: trailers", "x-y--: 1    GET / HTTP/1.1", "-: v", "authorization: s!", "content-length: 3",
	}
	if diff := cmp.Diff(want, decoded(t, NewEncoder(g, 0, e).AppendMessage(nil, &m, 3))); diff != "" {
		t.Errorf("h2 (-want +got):\n%s", diff)
	}
	head := "GET---HTTP-1.1--x- /x%20HTTP/1.1%0D%0A%0D%0A HTTP/1.1\r\nhost: a%20b%0D%0A\r\nte: gzip\r\nte: trailers\r\n" +
		"x-y--: 1    GET / HTTP/1.1  \r\n-:  v \r\nauthorization: s\r\ncontent-length: 3\r\nconnection: close, te\r\n\r\n"
	if got := string(NewHead(g, 0, e, false).AppendMessage(nil, &m, 3)); got != head {
		t.Errorf("h1: %q, want %q", got, head)
	}
	empty := message.Message{Method: b("POST"), Scheme: b("https"), Authority: b("h")}
	want = []string{":method: POST", ":scheme: https", ":authority: h", ":path: /", "content-length: 0"}
	if diff := cmp.Diff(want, decoded(t, NewEncoder(g, 0, e).AppendMessage(nil, &empty, 0))); diff != "" {
		t.Errorf("empty (-want +got):\n%s", diff)
	}
}

// TestHostileValuesInHTTP2: RFC 9113 8.2.1 and 8.3.1 hold for whatever is listed, captured or written.
func TestHostileValuesInHTTP2(t *testing.T) {
	for _, v := range []string{"a\r\nb", " a ", "\x00", "\n", "é", "a b"} {
		g := program(t, hostile(v))
		var in Instance
		in.Start(g, 0, sources(g), 0)
		in.Capture(0, []byte(v))
		enc := NewEncoder(g, 0, &g.Targets[0].Endpoints[0])
		block, _ := enc.AppendHeaders(nil, &g.Steps[1], &in, 2, 0, nil)
		encoded := percentEncoded(v)
		value := "<" + strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(v) + ">"
		want := []string{
			":method: PATCH", ":scheme: http", ":authority: t.example:80", ":path: /base/a/" + encoded + "/b?" + encoded + "=" + encoded,
			"x-captured: " + value, "x-literal: " + value, "x-listed: " + value, "user-agent: h2surge", "content-length: 2",
		}
		if diff := cmp.Diff(want, decoded(t, block)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", v, diff)
		}
	}
}

// TestConstantsAtTheEnds: a blank that an empty value leaves at an end is not sent over HTTP/2.
func TestConstantsAtTheEnds(t *testing.T) {
	p := lifeCycle()
	p.Variables = append(p.Variables, rv.Variable{Name: "none", Constant: &rv.Content{}})
	s := &p.Chains[1].Steps[0]
	s.Headers[0].Value = rv.Text{{Variable: 3}, {Literal: " "}, {Variable: 1}, {Literal: "\t"}, {Variable: 3}}
	s.Method, s.Path = "OPTIONS", lit("*")
	g := program(t, p)
	var in Instance
	in.Start(g, 1, sources(g), 0)
	e := &g.Targets[0].Endpoints[0]
	block, _ := NewEncoder(g, 0, e).AppendHeaders(nil, &g.Steps[3], &in, 0, 0, nil)
	want := []string{":method: OPTIONS", ":scheme: http", ":authority: t.example:80", ":path: *", "user-agent: 000005"}
	if diff := cmp.Diff(want, decoded(t, block)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := string(g.Steps[3].AppendPath(nil, &in, e)); got != "*" {
		t.Errorf("path %q", got)
	}
}

func TestStepsGoToTheirOwnTargets(t *testing.T) {
	p := lifeCycle()
	p.Targets = append(p.Targets, p.Targets[0])
	p.Targets[1].TLS = &rv.TLS{}
	p.Targets[1].Endpoints = []rv.Endpoint{{Scheme: "https", Authority: "other", Address: "other:443"}}
	p.Chains[0].Steps[1].Target = 1
	g := program(t, p)
	var in Instance
	in.Start(g, 0, sources(g), 0)
	in.Capture(0, []byte("/s"))
	for i, want := range []string{"t.example:80", "other", "t.example:80", "t.example:80"} {
		s := &g.Steps[i]
		if s.Chain == 1 {
			in.Start(g, 1, sources(g), 0)
		}
		e := &g.Targets[s.Target].Endpoints[0]
		block, _ := NewEncoder(g, s.Target, e).AppendHeaders(nil, s, &in, 0, 0, nil)
		if got := decoded(t, block)[2]; got != ":authority: "+want {
			t.Errorf("step %d has %s, want %s", i, got, want)
		}
	}
}

// TestClientAssertion: requests have the assertion of their target unless their template has its own, in a field that no
// table has. Without a value, and to another authority, there is no field.
func TestClientAssertion(t *testing.T) {
	p := secured()
	p.Targets[0].Auth, p.Targets[0].ClientAssertion = nil, &rv.ClientAssertion{Subject: "nf"}
	p.Chains[0].Steps[0].Headers = nil
	p.Chains[0].Steps[1].Headers = []rv.Header{{Name: lit("3gpp-Sbi-Client-Credentials"), Value: lit("own")}}
	g := program(t, p)
	e := &g.Targets[0].Endpoints[0]
	enc, head, src := NewEncoder(g, 0, e), NewHead(g, 0, e, true), sources(g)
	for i, want := range [][]Credential{{g.Assertion(0)}, nil} {
		if diff := cmp.Diff(want, g.Steps[i].Credentials); diff != "" {
			t.Errorf("step %d: credentials (-want +got):\n%s", i, diff)
		}
	}
	for _, tt := range []struct {
		value     string
		elsewhere bool
		step      int
		want      string
	}{{"a.b.c", false, 0, "a.b.c"}, {"a.b.c", true, 0, ""}, {"", false, 0, ""}, {"a.b.c", false, 1, "own"}} {
		src.SetCredential(g.Assertion(0), []byte(tt.value))
		src.Withhold(tt.elsewhere)
		s := &g.Steps[tt.step]
		var in Instance
		in.Start(g, 0, src, 0)
		var want []string
		line := ""
		if tt.want != "" {
			want, line = []string{"3gpp-sbi-client-credentials: " + tt.want + "!"}, "3gpp-sbi-client-credentials: "+tt.want+"\r\n"
		}
		only := func(all []string) (out []string) {
			for _, f := range all {
				if strings.HasPrefix(f, "3gpp") {
					out = append(out, f)
				}
			}
			return out
		}
		block, _ := enc.AppendHeaders(nil, s, &in, 0, 0, nil)
		if diff := cmp.Diff(want, only(decoded(t, block))); diff != "" {
			t.Errorf("%+v: h2 (-want +got):\n%s", tt, diff)
		}
		if got := string(head.AppendHead(nil, s, &in, 0, nil)); !strings.Contains(got, line) || strings.Count(got, "3gpp") != len(want) {
			t.Errorf("%+v: h1 %q", tt, got)
		}
		var m message.Message
		s.RenderMessage(&m, nil, &in, e, nil, nil)
		if diff := cmp.Diff(want, only(decoded(t, enc.AppendMessage(nil, &m, 0)))); diff != "" {
			t.Errorf("%+v: message (-want +got):\n%s", tt, diff)
		}
	}
}
