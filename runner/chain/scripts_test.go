package chain

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
	"github.com/h2surge/h2surge/runner/script"
)

var _ script.Values = (*Values)(nil)

func scripted(source string) *rv.Plan {
	p := lifeCycle()
	p.Globals = []string{"token"}
	p.Variables = append(p.Variables,
		rv.Variable{Name: "t", CSV: &rv.CSV{Content: rv.Content{Text: "a,b\n1,2\n"}}},
		rv.Variable{Name: "each", Range: &rv.Range{End: 9, Step: 1}, Scope: rv.ScopeStep},
		rv.Variable{Name: "fixed", Constant: &rv.Content{Text: "f"}})
	c := &p.Chains[0]
	c.Steps[1].Script, c.Steps[2].Script = lua(source), lua(source)
	c.Steps[2].Path, c.Steps[1].Headers = rv.Text{{Literal: "/"}, {Variable: 4}}, nil
	return p
}

func TestValuesOfScripts(t *testing.T) {
	g := program(t, scripted(`function on_request(req) req.path = vars.ue .. vars["t.b"] .. vars.each .. vars.fixed end -- colours`))
	src := sources(g)
	src.SetGlobals([]string{"tok"})
	var in Instance
	in.Start(g, 0, src, 0)
	in.BeginStep(&g.Steps[1], 0)
	in.BeginStep(&g.Steps[2], 0)
	v := Values{Instance: &in, Step: &g.Steps[2]}
	for name, want := range map[string]string{
		"ue": "000005", "t.a": "1", "t.b": "2", "each": "1", "fixed": "f", "token": "tok",
		"colour": "nil", "session": "nil", "t": "nil", "none": "nil",
	} {
		got, ok := v.Value(name)
		if ok != (want != "nil") || ok && string(got) != want {
			t.Errorf("vars.%s is %q, %v, want %s", name, got, ok, want)
		}
	}
	if got := string(g.Steps[2].AppendPath(nil, &in, &g.Targets[0].Endpoints[0])); got != "/base/1" {
		t.Errorf("the path has %s, the script the value 1", got)
	}
	if err := v.SetValue("session", []byte("/new")); err != nil {
		t.Error(err)
	}
	if got, ok := v.Value("session"); !ok || string(got) != "/new" || string(in.Captured(0)) != "/new" {
		t.Errorf("vars.session is %q, %v", got, ok)
	}
	for _, name := range []string{"ue", "token", "none", "t.a"} {
		if err := v.SetValue(name, []byte("x")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("vars.%s = x: %v", name, err)
		}
	}
	if err := v.SetValue("session", make([]byte, MaxCaptured+1)); err == nil {
		t.Error("a script captures more than there is room for")
	}
}

// TestScriptedChains: where a script changes requests, every exchange is kept, and its body if it is read.
func TestScriptedChains(t *testing.T) {
	for source, body := range map[string]bool{
		`function on_request(req, prev) req.path = "/" end`:           false,
		`function on_request(req, prev) req.path = prev.body end`:     true,
		`function make_request(h, b, rh, rb) return rh, rb end`:       true,
		`function make_request(h) return h, "" end`:                   false,
		`function on_response(res) return res:header("x") ~= nil end`: false,
	} {
		g := program(t, scripted(source))
		changes := g.Scripts[0].ChangesRequests()
		first := &g.Steps[0]
		if g.Chains[0].Scripted != changes || g.Chains[1].Scripted || first.Inspect != changes || first.WantRequest != changes || first.WantBody != body {
			t.Errorf("%s: scripted %v, first step %+v", source, g.Chains[0].Scripted, first.Inspection)
		}
		if first.needsBody || g.Steps[1].Script != 0 || g.Steps[2].Script != 1 || first.Script != -1 {
			t.Errorf("%s: scripts %d %d %d", source, first.Script, g.Steps[1].Script, g.Steps[2].Script)
		}
		if changes && (first.Captures != nil || len(first.captures) != 1) {
			t.Errorf("%s: captures %v are taken twice", source, first.Captures)
		}
	}
}

// TestLongMessagesOfScripts: a response to a call that is longer than MaxBody fails if the step needs it, and not if only
// the script of a later request reads it.
func TestLongMessagesOfScripts(t *testing.T) {
	long := append([]byte{0, 0, 0, 0, 20, 10, 18}, strings.Repeat("x", 18)...)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(append([]byte{10, 100}, strings.Repeat("x", 100)...))
	_ = w.Close()
	small := append([]byte{1, 0, 0, 0, byte(zipped.Len())}, zipped.Bytes()...)
	for _, checked := range []bool{false, true} {
		p := waiting()
		p.Targets[0].Protos[0].Text = `syntax = "proto3"; message M { string name = 1; } service S { rpc Up(stream M) returns (M); }`
		first := &p.Chains[0].Steps[0]
		first.MaxBody = len(small)
		if checked {
			first.Expect.Checks = []rv.Check{checkOf("name", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/name"}, rv.Match{Op: rv.MatchExists, Want: lit("true")})}
		}
		p.Chains[0].Steps = append(p.Chains[0].Steps, rv.Step{Name: "b", Method: "GET", Path: lit("/"), Timeout: time.Second,
			Script: lua(`function on_request(req, prev) req.path = prev.body end`)})
		g := program(t, p)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		for name, body := range map[string][]byte{"cut": long[:16], "compressed": small} {
			x := exchange(200, string(body))
			x.Response.Fields = []message.Field{headerField("grpc-encoding", "gzip"), headerField("grpc-status", "0")}
			x.Cut = name == "cut"
			want := map[bool]string{true: rv.CheckBody}[checked]
			if got := g.Steps[0].Judge(&in, x); got != want || !bytes.Equal(x.Response.Body, body) {
				t.Errorf("%s, checked: %v: failed %q, want %q; the body is %q", name, checked, got, want, x.Response.Body)
			}
		}
	}
}

func TestHasWord(t *testing.T) {
	for _, tt := range []struct {
		source, name string
		want         bool
	}{
		{"vars.ue", "ue", true}, {"ue", "ue", true}, {"vars.ues", "ue", false}, {"blue ue2 ue", "ue", true}, {`vars["ue"]`, "ue", true},
		{"value", "ue", false}, {"", "ue", false}, {"x", "", false}, {"ue_ _ue", "ue", false},
	} {
		if got := hasWord(tt.source, tt.name); got != tt.want {
			t.Errorf("%q in %q: %v", tt.name, tt.source, got)
		}
	}
}
