package chain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

func headerField(name, value string) message.Field {
	return message.Field{Name: []byte(name), Value: []byte(value)}
}

// exchange is a request for /base/sessions?x and a response with a few fields.
func exchange(status int, body string) *message.Exchange {
	return &message.Exchange{
		Request: &message.Message{
			Method: []byte("POST"), Scheme: []byte("http"), Authority: []byte("t.example:80"), Path: []byte("/base/sessions?x"),
			Body: []byte(`{"id":"r"}`), Fields: []message.Field{headerField("x-id", "7")},
		},
		Response: &message.Message{
			Status: status, Body: []byte(body),
			Fields: []message.Field{headerField("location", "sessions/42?y#z"), headerField("etag", `"v-17"`), headerField("link", "https://OTHER.example:8443/a")},
		},
		BodySize: int64(len(body)), ResponseTime: 5_000_000,
	}
}

func checkOf(name string, s rv.Source, m rv.Match) rv.Check {
	return rv.Check{Name: name, Source: &s, Match: &m}
}

func TestJudge(t *testing.T) {
	p := lifeCycle()
	s := &p.Chains[0].Steps[0]
	s.Expect.Checks = []rv.Check{
		checkOf("etag", rv.Source{Kind: rv.SourceHeader, Name: "etag", Regex: "v-([0-9]+)", Group: 1}, rv.Match{Op: rv.MatchEquals, Want: lit("17")}),
		checkOf("ue", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/ue"}, rv.Match{Op: rv.MatchEquals, Want: rv.Text{{Literal: "ue-"}, {Variable: 1}}}),
		checkOf("fast", rv.Source{Kind: rv.SourceResponseTime}, rv.Match{Op: rv.MatchLessThan, Want: lit("5000001")}),
		checkOf("request", rv.Source{Kind: rv.SourceRequestHeader, Name: "x-id"}, rv.Match{Op: rv.MatchEquals, Want: lit("7")}),
		{Name: "schema", Schema: &rv.Content{Text: `{"required":["id"]}`}},
	}
	g := program(t, p)
	step := &g.Steps[0]
	if !step.Inspect || !step.WantBody || !step.WantFields || !step.WantRequest || !step.WantHeaders || step.Captures != nil || step.MaxBody != 1<<20 {
		t.Errorf("%+v", step.Inspection)
	}
	var in Instance
	in.Start(g, 0, sources(g), 0)
	for _, tt := range []struct {
		name, want string
		x          *message.Exchange
		edit       func(x *message.Exchange)
	}{
		{"good", "", exchange(201, `{"ue":"ue-000005","id":1}`), nil},
		{"status first", rv.CheckStatus, exchange(200, `{}`), func(x *message.Exchange) { x.Cut = true }},
		{"cut", rv.CheckBody, exchange(201, `{"ue":"ue-000005","id":1}`), func(x *message.Exchange) { x.Cut = true }},
		{"header", "etag", exchange(201, `{}`), func(x *message.Exchange) { x.Response.Fields = nil }},
		{"pointer", "ue", exchange(201, `{"ue":"ue-000006"}`), nil},
		{"no json", "ue", exchange(201, `x`), nil},
		{"time", "fast", exchange(201, `{"ue":"ue-000005","id":1}`), func(x *message.Exchange) { x.ResponseTime++ }},
		{"request", "request", exchange(201, `{"ue":"ue-000005","id":1}`), func(x *message.Exchange) { x.Request.Fields = nil }},
		{"schema", "schema", exchange(201, `{"ue":"ue-000005"}`), nil},
	} {
		if tt.edit != nil {
			tt.edit(tt.x)
		}
		if got := step.Judge(&in, tt.x); got != tt.want {
			t.Errorf("%s: failed %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestChecksOfParts: a response that does not have the part fails its checks, and a trial shows why.
func TestChecksOfParts(t *testing.T) {
	p := lifeCycle()
	s := &p.Chains[0].Steps[0]
	s.Expect.Checks = []rv.Check{
		checkOf("n1", rv.Source{Kind: rv.SourceBodyHex, Part: "n1msg"}, rv.Match{Op: rv.MatchEquals, Want: lit("7e00")}),
		{Name: "schema", Schema: &rv.Content{Text: `{"required":["id"]}`}, SchemaPart: "application/json"},
	}
	g := program(t, p)
	var in Instance
	in.Start(g, 0, sources(g), 0)
	body := "--b\r\nContent-Type: application/json\r\n\r\n{\"id\":1}\r\n--b\r\nContent-ID: n1msg\r\n\r\n\x7e\x00\r\n--b--\r\n"
	for _, tt := range []struct{ kind, body, want, found, problem string }{
		{"multipart/related; boundary=b", body, "", "7e00", ""},
		{"multipart/related; boundary=b", strings.ReplaceAll(body, "id", "ie"), "schema", "7e00", ""},
		{"multipart/related; boundary=b", strings.ReplaceAll(body, "json", "xml"), "schema", "7e00", ""},
		{"multipart/related; boundary=b", strings.ReplaceAll(body, "n1msg", "n2msg"), "n1", "", "the content does not have the part"},
		{"application/json", body, "n1", "", "content-type is not multipart (RFC 2046 5.1)"},
	} {
		x := exchange(201, tt.body)
		x.Response.Fields = append(x.Response.Fields, headerField("content-type", tt.kind))
		if got := g.Steps[0].Judge(&in, x); got != tt.want {
			t.Errorf("%s: failed %q, want %q", tt.body, got, tt.want)
		}
		if f := g.Steps[0].Findings(&in, x)[1]; string(f.Found) != tt.found || f.Problem != tt.problem {
			t.Errorf("%s: found %q, %q, want %q, %q", tt.body, f.Found, f.Problem, tt.found, tt.problem)
		}
	}
}

// TestWhatIsGathered: nothing more than what is looked at.
func TestWhatIsGathered(t *testing.T) {
	type want struct{ Inspect, Headers, Fields, Body, Request bool }
	capture := func(s rv.Source) func(*rv.Step) {
		return func(st *rv.Step) { st.Capture = []rv.Capture{{Slot: 0, Source: s}} }
	}
	check := func(kind rv.SourceKind) func(*rv.Step) {
		return func(st *rv.Step) {
			st.Expect.Checks = []rv.Check{checkOf("c", rv.Source{Kind: kind, Name: "n"}, rv.Match{Op: rv.MatchEquals})}
		}
	}
	header := rv.Source{Kind: rv.SourceHeader, Name: "etag"}
	for name, tt := range map[string]struct {
		edit func(*rv.Step)
		want want
	}{
		"nothing":          {func(*rv.Step) {}, want{}},
		"status only":      {func(s *rv.Step) { s.Expect.Status = []rv.StatusRange{{From: 200, To: 200}} }, want{}},
		"header":           {capture(header), want{Headers: true}},
		"header and regex": {capture(rv.Source{Kind: rv.SourceHeader, Name: "etag", Regex: "x"}), want{Inspect: true, Headers: true, Fields: true}},
		"body":             {capture(rv.Source{Kind: rv.SourceBody}), want{Inspect: true, Body: true}},
		"status":           {check(rv.SourceStatus), want{Inspect: true}},
		"part":             {capture(rv.Source{Kind: rv.SourceBody, Part: "a"}), want{Inspect: true, Headers: true, Fields: true, Body: true}},
		"schema of a part": {func(s *rv.Step) {
			s.Expect.Checks = []rv.Check{{Name: "c", Schema: &rv.Content{Text: "{}"}, SchemaPart: "a"}}
		}, want{Inspect: true, Headers: true, Fields: true, Body: true}},
		"body size":         {check(rv.SourceBodySize), want{Inspect: true}},
		"request":           {check(rv.SourceRequestPath), want{Inspect: true, Request: true}},
		"validating script": {func(s *rv.Step) { s.Script = lua("function on_response(res) return res.status == 200 end") }, want{Inspect: true, Headers: true, Fields: true, Request: true}},
		"and its body":      {func(s *rv.Step) { s.Script = lua("function on_response(res) return #res.body > 0 end") }, want{true, true, true, true, true}},
		"capture of location, inspected": {func(s *rv.Step) {
			s.Capture = []rv.Capture{{Slot: 0, Location: true, Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}}}
			check(rv.SourceStatus)(s)
		}, want{Inspect: true, Headers: true, Fields: true}},
		"capture of location that changes the path": {func(s *rv.Step) {
			s.Path = rv.Text{{Literal: "/"}, {Capture: 1}}
			s.Capture = []rv.Capture{{Slot: 0, Location: true, Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}}}
			check(rv.SourceStatus)(s)
		}, want{Inspect: true, Headers: true, Fields: true, Request: true}},
	} {
		p := lifeCycle()
		p.Chains[0].Steps[1].Path, p.Chains[0].Steps[2].Path = lit("/1"), lit("/1") // no path begins with a capture
		tt.edit(&p.Chains[0].Steps[1])
		s := &program(t, p).Steps[1]
		if got := (want{s.Inspect, s.WantHeaders, s.WantFields, s.WantBody, s.WantRequest}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func lua(source string) *rv.Script {
	return &rv.Script{Name: "script", Content: rv.Content{Text: source}}
}

func TestTakeCaptures(t *testing.T) {
	empty, fallback := "", "fallback"
	none := rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/none"}
	for name, tt := range map[string]struct {
		capture rv.Capture
		want    string
		has     bool
		missing bool
	}{
		"pointer":           {rv.Capture{Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/a/-1"}}, "2", true, false},
		"of the request":    {rv.Capture{Source: rv.Source{Kind: rv.SourceRequestJSONPointer, Pointer: "/id"}}, "r", true, false},
		"long":              {rv.Capture{Source: rv.Source{Kind: rv.SourceBody}}, "", true, false},
		"missing":           {rv.Capture{Source: none}, "", false, true},
		"default":           {rv.Capture{Source: none, Default: &fallback}, fallback, true, false},
		"empty default":     {rv.Capture{Source: none, Default: &empty}, "", true, false},
		"optional":          {rv.Capture{Source: none, Optional: true}, "", false, false},
		"location":          {rv.Capture{Source: rv.Source{Kind: rv.SourceHeader, Name: "location", Regex: ".*"}, Location: true}, "/base/sessions/42?y", true, false},
		"no location":       {rv.Capture{Source: rv.Source{Kind: rv.SourceHeader, Name: "x", Regex: ".*"}, Location: true}, "", false, true},
		"hostile location":  {rv.Capture{Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/bad"}, Location: true}, "", false, true},
		"location optional": {rv.Capture{Source: rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/bad"}, Location: true, Optional: true}, "", false, false},
	} {
		p := lifeCycle()
		p.Chains[0].Steps = p.Chains[0].Steps[:1]
		p.Chains[0].Steps[0].Capture = []rv.Capture{tt.capture}
		g := program(t, p)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		in.Capture(0, []byte("from before"))
		x := exchange(201, `{"a":[1,2],"bad":"/a b","pad":"`+strings.Repeat("x", 3000)+`"}`)
		if name == "long" {
			tt.want = string(x.Response.Body)
		}
		missing := g.Steps[0].TakeCaptures(&in, x, nil)
		if got := string(in.Captured(0)); got != tt.want || missing != tt.missing || in.captures[0].set != tt.has {
			t.Errorf("%s: %q, set %v, missing %v, want %q, %v, %v", name, got, in.captures[0].set, missing, tt.want, tt.has, tt.missing)
		}
	}
}

func TestSimpleCaptures(t *testing.T) {
	fallback := "none"
	p := lifeCycle()
	c := &p.Chains[0]
	c.Captures = []string{"session", "etag", "other"}
	c.Steps[0].Capture = append(c.Steps[0].Capture,
		rv.Capture{Slot: 1, Source: rv.Source{Kind: rv.SourceHeader, Name: "etag"}, Default: &fallback},
		rv.Capture{Slot: 2, Source: rv.Source{Kind: rv.SourceHeader, Name: "other"}, Optional: true})
	g := program(t, p)
	s := &g.Steps[0]
	var in Instance
	in.Start(g, 0, sources(g), 0)
	var good []bool
	for i := range s.Captures {
		good = append(good, s.Captures[i].Otherwise(&in))
	}
	if diff := cmp.Diff([]bool{false, true, true}, good); diff != "" || string(in.Captured(1)) != fallback || in.Has(2) {
		t.Errorf("captured %q, has %v (-want +got):\n%s", in.Captured(1), in.Has(2), diff)
	}
	if !s.Captures[0].Location || s.Captures[1].Header != "etag" || s.BeginsWithURI || !g.Steps[1].BeginsWithURI {
		t.Errorf("%+v, paths begin with a URI: %v and %v", s.Captures, s.BeginsWithURI, g.Steps[1].BeginsWithURI)
	}
}

// TestRepeatedCapturesFindRoom: what has been replaced takes no room for ever.
func TestRepeatedCapturesFindRoom(t *testing.T) {
	p := lifeCycle()
	p.Chains[0].Captures = append(p.Chains[0].Captures, "kept")
	g := program(t, p)
	var in Instance
	in.Start(g, 0, sources(g), 0)
	in.Capture(1, []byte("kept"))
	for i := range 2000 {
		value := []byte(strings.Repeat("x", 1+i%997))
		if !in.Capture(0, value) || string(in.Captured(0)) != string(value) || string(in.Captured(1)) != "kept" {
			t.Fatalf("round %d: %q and %q", i, in.Captured(0), in.Captured(1))
		}
	}
	if cap(in.buf) > 2*MaxCaptured {
		t.Errorf("%d octets for two values", cap(in.buf))
	}
}

func TestConditions(t *testing.T) {
	captured, global := rv.Text{{Capture: 1}}, rv.Text{{Global: 1}}
	for name, tt := range map[string]struct {
		condition rv.Condition
		want      bool
	}{
		"equals":           {rv.Condition{Value: captured, Match: rv.Match{Op: rv.MatchEquals, Want: rv.Text{{Literal: "s-"}, {Variable: 1}}}}, true},
		"differs":          {rv.Condition{Value: captured, Match: rv.Match{Op: rv.MatchEquals, Want: lit("x")}}, false},
		"not":              {rv.Condition{Value: captured, Match: rv.Match{Op: rv.MatchEquals, Want: lit("x"), Not: true}}, true},
		"empty":            {rv.Condition{Value: global, Match: rv.Match{Op: rv.MatchExists, Want: lit("true")}}, false},
		"empty, as wanted": {rv.Condition{Value: global, Match: rv.Match{Op: rv.MatchExists, Want: lit("false")}}, true},
		"there":            {rv.Condition{Value: captured, Match: rv.Match{Op: rv.MatchExists, Want: lit("true")}}, true},
		"with functions":   {rv.Condition{Value: rv.Text{{Capture: 1, Functions: []rv.Function{{Name: rv.FunctionUpper}}}}, Match: rv.Match{Op: rv.MatchStartsWith, Want: lit("S-")}}, true},
	} {
		p := lifeCycle()
		p.Globals = []string{"g"}
		p.Chains[0].Steps[1].When = []rv.Condition{{Value: lit("a"), Match: rv.Match{Op: rv.MatchEquals, Want: lit("a")}}, tt.condition}
		g := program(t, p)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		in.Capture(0, []byte("s-000005"))
		if got := in.Holds(g.Steps[1].When); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if !in.Holds(nil) {
			t.Error("no condition does not hold")
		}
	}
}
