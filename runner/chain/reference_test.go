package chain

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// uriPlan is lifeCycle with a step whose path is a captured value and what follows it.
func uriPlan(follows ...rv.Part) *rv.Plan {
	p := lifeCycle()
	p.Chains[0].Steps[1].Path = append(rv.Text{{Capture: 1}}, follows...)
	return p
}

// TestCapturedURIs: a path that begins with a captured URI has its path and query, wherever the URI leads.
func TestCapturedURIs(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		location    bool
		follows     string
		path, kept  string // the rendered path, and what the slot has
		at          string // another origin
	}{
		{name: "path", value: "/a/1", path: "/a/1", kept: "/a/1"},
		{name: "absolute, same origin", value: "http://T.EXAMPLE/a?b#c", path: "/a?b", kept: "http://T.EXAMPLE/a?b#c"},
		{name: "absolute, other origin", value: "https://other:8443/a", path: "/a", kept: "https://other:8443/a", at: "https other:8443"},
		{name: "API prefix without a path", value: "http://other:81", follows: "/nudm-sdm/v2", path: "/nudm-sdm/v2", kept: "http://other:81", at: "http other:81"},
		{name: "API prefix with a path", value: "http://other/api", follows: "/v2", path: "/api/v2", kept: "http://other/api", at: "http other"},
		{name: "nothing but an authority", value: "http://other", path: "/", kept: "http://other", at: "http other"},
		{name: "query behind an authority", value: "http://other", follows: "?x=1", path: "/?x=1", kept: "http://other", at: "http other"},
		{name: "network-path reference", value: "//other/a", path: "/a", kept: "//other/a", at: "http other"},
		{name: "relative", value: "sessions/7", path: "/base/sessions/7", kept: "sessions/7"},
		{name: "relative with dots", value: "../x", path: "/x", kept: "../x"},
		{name: "empty prefix", value: "", follows: "/v2", path: "/v2", kept: ""},
		{name: "empty", value: "", path: "/", kept: ""},
		{name: "path with a space", value: "/a b", path: "/a%20b", kept: "/a b"},
		{name: "location", value: "http://T.EXAMPLE/a", location: true, path: "/a", kept: "/a"},
		{name: "location elsewhere", value: "https://other:8443/a?b#c", location: true, path: "/a?b", kept: "/a?b", at: "https other:8443"},
		{name: "location without a path", value: "//third", location: true, follows: "/x", path: "/x", kept: "/", at: "http third"},
		{name: "relative location", value: "sessions/7", location: true, path: "/base/sessions/7", kept: "/base/sessions/7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := uriPlan(lit(tt.follows)...)
			p.Chains[0].Steps[0].Capture[0].Location = tt.location
			g := program(t, p)
			e := &g.Targets[0].Endpoints[0]
			var in Instance
			in.Start(g, 0, sources(g), 0)
			c := &g.Steps[0].Captures[0]
			if !g.Steps[0].CaptureURI(&in, c, nil, e, []byte(tt.value)) {
				t.Fatal("not captured")
			}
			s := &g.Steps[1]
			if got := string(s.AppendPath(nil, &in, e)); got != tt.path {
				t.Errorf("the path is %q, want %q", got, tt.path)
			}
			if got := string(in.Captured(0)); got != tt.kept {
				t.Errorf("the slot has %q, want %q", got, tt.kept)
			}
			at := ""
			if scheme, authority, ok := in.Authority(s); ok {
				at = string(scheme) + " " + string(authority)
			}
			if at != tt.at {
				t.Errorf("it leads to %q, want %q", at, tt.at)
			}
			in.Capture(0, []byte("/next"))
			if _, _, ok := in.Authority(s); ok || string(s.AppendPath(nil, &in, e)) != "/next"+tt.follows {
				t.Error("the next value still has what the last one resolved to")
			}
		})
	}
}

// TestURIsOfInspectedSteps: the path of a request that was not kept is rendered again.
func TestURIsOfInspectedSteps(t *testing.T) {
	p := uriPlan()
	s := &p.Chains[0].Steps[0]
	s.Capture[0].Location = true
	s.Expect.Checks = []rv.Check{checkOf("c", rv.Source{Kind: rv.SourceStatus}, rv.Match{Op: rv.MatchExists, Want: lit("true")})}
	g := program(t, p)
	var in Instance
	in.Start(g, 0, sources(g), 0)
	x := exchange(201, "")
	x.Request, x.Response.Fields = nil, []message.Field{headerField("location", "sessions/7")}
	if g.Steps[0].TakeCaptures(&in, x, &g.Targets[0].Endpoints[0]) || string(in.Captured(0)) != "/base/sessions/7" {
		t.Errorf("captured %q", in.Captured(0))
	}
}

func TestURIsThatCannotBeCaptured(t *testing.T) {
	for _, location := range []bool{false, true} {
		p := uriPlan()
		p.Chains[0].Steps[0].Capture[0].Location = location
		g := program(t, p)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		c := &g.Steps[0].Captures[0]
		for _, bad := range []string{"ftp://x/", "a b", "http://u@h/", "urn:x", "http://[::1"} {
			if g.Steps[0].CaptureURI(&in, c, nil, &g.Targets[0].Endpoints[0], []byte(bad)) {
				t.Errorf("%q is captured, location %v", bad, location)
			}
		}
	}
}

// TestGlobalURIs: what setup publishes can be resolved without the request it was captured from.
func TestGlobalURIs(t *testing.T) {
	for value, want := range map[string]struct{ published, path, at string }{
		"http://other/api/": {"http://other/api/", "/api//v2", "http other"},
		"http://t.example":  {"http://t.example", "/v2", "http t.example"},
		"//other/api":       {"http://other/api", "/api/v2", "http other"},
		"api":               {"/base/api", "/base/api/v2", ""},
		"/api":              {"/api", "/api/v2", ""},
		"":                  {"", "/v2", ""},
	} {
		p := uriPlan()
		p.Globals = []string{"prefix"}
		setup := p.Chains[0]
		setup.Name, setup.Phase, setup.Publish = "setup", rv.PhaseSetup, []int{1}
		setup.Steps = setup.Steps[:1:1]
		setup.Steps[0].Capture[0].Location = false
		load := rv.Chain{Name: "load", Weight: 1, Steps: []rv.Step{p.Chains[0].Steps[1]}}
		load.Steps[0].Path = rv.Text{{Global: 1}, {Literal: "/v2"}}
		load.Steps[0].Capture, load.Steps[0].Headers, load.Steps[0].Body = nil, nil, nil
		p.Chains = []rv.Chain{setup, load}
		g := program(t, p)
		e := &g.Targets[0].Endpoints[0]
		src := sources(g)
		var in Instance
		in.Start(g, 0, src, 0)
		if !g.Steps[0].CaptureURI(&in, &g.Steps[0].Captures[0], nil, e, []byte(value)) {
			t.Fatalf("%q is not captured", value)
		}
		published := in.Published(0)
		src.SetGlobals([]string{published})
		s := &g.Steps[1]
		at := ""
		if scheme, authority, ok := in.Authority(s); ok {
			at = string(scheme) + " " + string(authority)
		}
		if path := string(s.AppendPath(nil, &in, e)); path != want.path || published != want.published || at != want.at {
			t.Errorf("%q: published %q, path %q at %q, want %q", value, published, path, at, want)
		}
	}
}

// TestDefaultURIs: a default is resolved as far as that is possible without a request.
func TestDefaultURIs(t *testing.T) {
	for fallback, want := range map[string]string{"http://other/a": "/a", "/a": "/a", "": "/"} {
		p := uriPlan()
		p.Chains[0].Steps[0].Capture[0].Default = &fallback
		p.Chains[0].Steps[0].Capture[0].Location = false
		g := program(t, p)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		g.Steps[0].Captures[0].Otherwise(&in)
		if got := string(g.Steps[1].AppendPath(nil, &in, &g.Targets[0].Endpoints[0])); got != want {
			t.Errorf("default %q: path %q, want %q", fallback, got, want)
		}
	}
}
