package chain

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// machine has two variables of the environment and a few files.
func machine(shard int) Resources {
	env := map[string]string{"HOST": "pcf.example", "EMPTY": ""}
	files := map[string]string{
		"/secret": "s3cret\r\n", "/base64": "aGVs\nbG8=\n", "/bad64": "a#b", "/table": "imsi,key\n1,k1\n2,k2\n",
		"/body": `{"imsi":"${t.imsi}","c":"${upper(colour)}","s":"${session}","g":"${token}","$$":1}`, "/unknown": "x ${nobody}",
	}
	return Resources{
		Share: &rv.Share{Shard: shard, Shards: 4},
		Env:   func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(name string) ([]byte, error) {
			if v, ok := files[name]; ok {
				return []byte(v), nil
			}
			return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		},
	}
}

func text1(s string) *rv.Content { return &rv.Content{Text: s} }

func TestConstants(t *testing.T) {
	fallback := "d"
	for name, tt := range map[string]struct {
		v    rv.Variable
		want string
	}{
		"env":                 {rv.Variable{Env: &rv.Env{Name: "HOST"}}, "pcf.example"},
		"env, empty":          {rv.Variable{Env: &rv.Env{Name: "EMPTY", Default: &fallback}}, ""},
		"env, default":        {rv.Variable{Env: &rv.Env{Name: "NONE", Default: &fallback}}, "d"},
		"perShard":            {rv.Variable{PerShard: []string{"a", "b", "c"}}, "c"},
		"perShard, modulo":    {rv.Variable{PerShard: []string{"a", "b"}}, "a"},
		"text":                {rv.Variable{Constant: text1("t")}, "t"},
		"nothing":             {rv.Variable{Constant: &rv.Content{}}, ""},
		"bytes":               {rv.Variable{Constant: &rv.Content{Bytes: []byte{0xff}}}, "\xff"},
		"file":                {rv.Variable{Constant: &rv.Content{File: "/secret"}}, "s3cret\r\n"},
		"file, trimmed":       {rv.Variable{Constant: &rv.Content{File: "/secret", Trim: true}}, "s3cret"},
		"file, base64":        {rv.Variable{Constant: &rv.Content{File: "/base64", Base64: true}}, "hello"},
		"field of the pod":    {rv.Variable{Constant: &rv.Content{Env: "HOST", Trim: true}}, "pcf.example"},
		"global list":         {rv.Variable{Scope: rv.ScopeGlobal, List: []string{"first", "second"}}, "first"},
		"global counter":      {rv.Variable{Scope: rv.ScopeGlobal, Counter: &rv.Counter{Start: 9, Step: 1}}, "9"},
		"constant of a scope": {rv.Variable{Scope: rv.ScopeStep, Constant: text1("t")}, "t"},
	} {
		tt.v.Name = "v"
		g, err := Load(drawPlan(rv.Text{{Literal: "<"}, {Variable: 1}, {Literal: ">"}}, tt.v), machine(2))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := g.Steps[0].body; !got.constant() || got.literal() != "<"+tt.want+">" {
			t.Errorf("%s: %+v, want the literal <%s>", name, got, tt.want)
		}
	}
}

// TestGlobalsAreTheSameEverywhere: the value depends on the seed and not on the shard.
func TestGlobalsAreTheSameEverywhere(t *testing.T) {
	for _, v := range []rv.Variable{
		{UUID: true},
		{Random: &rv.Random{Hex: 16}},
		{Range: &rv.Range{End: 1e9, Step: 1}, Order: rv.OrderShuffled},
		{Range: &rv.Range{End: 1e9, Step: 1}, Order: rv.OrderRandom},
	} {
		v.Name, v.Scope = "v", rv.ScopeGlobal
		var got [3]string
		for i := range got {
			p := drawPlan(variableText(1), v)
			if i == 2 {
				p.Seed++
			}
			g, err := Load(p, machine(i))
			if err != nil {
				t.Fatal(err)
			}
			got[i] = g.Steps[0].body.literal()
		}
		if got[0] != got[1] || got[0] == got[2] {
			t.Errorf("%+v: %q with the same seed on two shards, %q with another one", v, got[:2], got[2])
		}
	}
}

func TestBodyFromHasItsPlaceholdersFilled(t *testing.T) {
	p := lifeCycle()
	p.Variables = append(p.Variables, rv.Variable{Name: "t", CSV: &rv.CSV{Content: rv.Content{File: "/table"}}})
	p.Globals = []string{"token"}
	steps := p.Chains[0].Steps
	steps[1].BodyFrom = &rv.BodyFrom{Content: rv.Content{File: "/body"}}
	steps[2].BodyFrom = &rv.BodyFrom{Content: rv.Content{File: "/body"}, Raw: true}
	steps[1].Headers = []rv.Header{{Name: lit("x-key"), Value: rv.Text{{Content: &rv.Content{File: "/secret", Trim: true}}}}}
	g, err := Load(p, machine(0))
	if err != nil {
		t.Fatal(err)
	}
	src := sources(g)
	src.SetGlobals([]string{"tok"})
	var in Instance
	in.Start(g, 0, src, 0)
	in.Capture(0, []byte("/s/1"))
	if got, want := string(g.Steps[1].AppendBody(nil, &in)), `{"imsi":"1","c":"RED","s":"/s/1","g":"tok","$":1}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	raw, _ := machine(0).ReadFile("/body")
	if got := string(g.Steps[2].AppendBody(nil, &in)); got != string(raw) {
		t.Errorf("the raw body is %s", got)
	}
	head := string(NewHead(g, 0, &g.Targets[0].Endpoints[0], true).AppendHead(nil, &g.Steps[1], &in, 0, nil))
	if !strings.Contains(head, "\r\nx-key: s3cret\r\n") {
		t.Errorf("no value of a file in %q", head)
	}
}

// TestTextsDoNotShareMemory: what one text adds to a file's content is not in another one.
func TestTextsDoNotShareMemory(t *testing.T) {
	content := append(make([]byte, 0, 64), "same "...)
	p := lifeCycle()
	r := machine(0)
	r.ReadFile = func(string) ([]byte, error) { return content, nil }
	steps := p.Chains[0].Steps
	for i, end := range []string{"one", "two"} {
		steps[i].Body = rv.Text{{Content: &rv.Content{File: "/f"}}, {Literal: end}}
	}
	g, err := Load(p, r)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := g.Steps[0].body.literal(), g.Steps[1].body.literal(); a != "same one" || b != "same two" {
		t.Errorf("bodies %q and %q", a, b)
	}
}

// TestNamesInFiles: what the chain captures hides a variable, which hides what setup captures.
func TestNamesInFiles(t *testing.T) {
	p := lifeCycle()
	p.Globals = []string{"session", "ue", "only"}
	p.Variables[1].Name = "session"
	p.Chains[0].Steps[1].BodyFrom = &rv.BodyFrom{Content: *text1("${session} ${ue} ${only} ${listener.a.port}")}
	p.Listeners = []rv.Listener{{Name: "a", Status: 204, Retention: 1}}
	g := program(t, p)
	src := sources(g)
	src.SetGlobals([]string{"g1", "g2", "g3"})
	src.SetListener(0, "http://192.0.2.1:9000")
	var in Instance
	in.Start(g, 0, src, 0)
	in.Capture(0, []byte("captured"))
	if got, want := string(g.Steps[1].AppendBody(nil, &in)), "captured 000005 g3 9000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEndpointsOfTexts(t *testing.T) {
	p := lifeCycle()
	p.Variables = []rv.Variable{{Name: "host", Env: &rv.Env{Name: "HOST"}}, {Name: "path", PerShard: []string{"/a", "/b/"}}, {Name: "unused", List: []string{"x"}}}
	p.Targets[0].Endpoints = []rv.Endpoint{
		{URL: rv.Text{{Literal: "http://"}, {Variable: 1}, {Literal: ":8080"}, {Variable: 2}}},
		{URL: rv.Text{{Literal: "http://"}, {Variable: 1}}, Address: "unix:/run/x"},
	}
	for i := range p.Chains {
		for j := range p.Chains[i].Steps {
			p.Chains[i].Steps[j].Headers, p.Chains[i].Steps[j].Body, p.Chains[i].Steps[j].Path = nil, nil, lit("/p")
		}
	}
	g, err := Load(p, machine(1))
	if err != nil {
		t.Fatal(err)
	}
	want := []rv.Endpoint{
		{Scheme: "http", Authority: "pcf.example:8080", Address: "pcf.example:8080", BasePath: "/b"},
		{Scheme: "http", Authority: "pcf.example", Address: "unix:/run/x"},
	}
	if diff := cmp.Diff(want, g.Targets[0].Endpoints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Targets[0].Endpoints[0].Scheme != "" {
		t.Error("the plan has been changed")
	}
}

// TestLoadTellsTheFault: the place in the plan and what is wrong, but no content of files.
func TestLoadTellsTheFault(t *testing.T) {
	variable := func(v rv.Variable) func(*rv.Plan) { return func(p *rv.Plan) { p.Variables[1] = v } }
	step := func(edit func(*rv.Step)) func(*rv.Plan) { return func(p *rv.Plan) { edit(&p.Chains[0].Steps[1]) } }
	table := &rv.CSV{Content: rv.Content{File: "/table"}}
	for _, tt := range []struct {
		name string
		edit func(*rv.Plan)
		want string
	}{
		{"env", variable(rv.Variable{Name: "e", Env: &rv.Env{Name: "NONE"}}), "variables[1].env: NONE is not set in the environment of the runner, and there is no default"},
		{"file", variable(rv.Variable{Name: "f", Constant: &rv.Content{File: "/none"}}), "variables[1].constant: file: open /none: file does not exist"},
		{"base64", variable(rv.Variable{Name: "f", Constant: &rv.Content{File: "/bad64", Base64: true}}), "variables[1].constant: file /bad64: byte 1 is not base64 (RFC 4648 4)"},
		{"csv", variable(rv.Variable{Name: "c", CSV: &rv.CSV{Content: rv.Content{File: "/secret"}}}), "variables[1].csv: /secret: the table has no rows"},
		{"nothing", variable(rv.Variable{Name: "n"}), "variables[1]: a source of values is required"},
		{"order", variable(rv.Variable{Name: "n", List: []string{"a"}, Order: "up"}), `variables[1].order: there is no "up"`},
		{"scope", variable(rv.Variable{Name: "n", List: []string{"a"}, Scope: "up"}), `variables[1].scope: there is no "up"`},
		{"global time", variable(rv.Variable{Name: "n", Timestamp: &rv.Timestamp{Format: rv.TimeRFC3339}, Scope: rv.ScopeGlobal}), "variables[1].scope: a timestamp cannot be global, because runners have different clocks"},
		{"random", variable(rv.Variable{Name: "n", Random: &rv.Random{Choice: []rv.Choice{{Value: "a"}}}}), "variables[1].random: choice[0].weight: 0 is out of range"},
		{"no column", variable(rv.Variable{Name: "colour", CSV: table}), `chains[0].steps[1].headers[1]: the variable colour is a table and needs a column; the first row names 2`},
		{"a column", step(func(s *rv.Step) { s.Path = rv.Text{{Variable: 1, Column: "x"}} }), "chains[0].steps[1].path: the variable ue has no columns"},
		{"global", step(func(s *rv.Step) { s.Body = rv.Text{{Global: 1}} }), "chains[0].steps[1].body: there is no global 1"},
		{"function", step(func(s *rv.Step) { s.Body = rv.Text{{Variable: 1, Functions: []rv.Function{{Name: "rot13"}}}} }), `chains[0].steps[1].body: unknown function "rot13"`},
		{"key", step(func(s *rv.Step) {
			s.Body = rv.Text{{Variable: 1, Functions: []rv.Function{{Name: rv.FunctionHMACSHA256, Key: &rv.Part{Capture: 9}}}}}
		}), "chains[0].steps[1].body: there is no capture 9"},
		{"bodyFrom", step(func(s *rv.Step) { s.BodyFrom = &rv.BodyFrom{Content: rv.Content{File: "/unknown"}} }), "chains[0].steps[1].body: ${nobody} is not a variable or a capture of the chain"},
		{"step's target", step(func(s *rv.Step) { s.Target = 7 }), "chains[0].steps[1].target: there is no target 7"},
		{"think", step(func(s *rv.Step) { s.Think = &rv.Think{Min: 2, Max: 1} }), "chains[0].steps[1].think: max 1ns is below min 2ns"},
		{"when", step(func(s *rv.Step) { s.When = []rv.Condition{{Value: lit("a"), Match: rv.Match{Op: "like"}}} }), `chains[0].steps[1].when[0]: op: unknown comparison "like"`},
		{"when, step", func(p *rv.Plan) {
			p.Variables[0].Scope = rv.ScopeStep
			p.Chains[0].Steps[0].When = []rv.Condition{{Value: rv.Text{{Variable: 1}}, Match: rv.Match{Op: rv.MatchEquals}}}
		}, "chains[0].steps[0].when[0]: the variable ue has a new value for each request, so it cannot be used here"},
		{"check", step(func(s *rv.Step) { s.Expect.Checks = []rv.Check{{Name: "c"}} }), "chains[0].steps[1].expect.checks[0]: source and match, or schema, are required"},
		{"check's name", step(func(s *rv.Step) { s.Expect.Checks = []rv.Check{{Name: "status"}} }), `chains[0].steps[1].expect.checks[0]: name: "status" is taken`},
		{"schema", step(func(s *rv.Step) { s.Expect.Checks = []rv.Check{{Name: "c", Schema: &rv.Content{File: "/none"}}} }), "chains[0].steps[1].expect.checks[0]: file: open /none: file does not exist"},
		{"script", step(func(s *rv.Step) { s.Script = &rv.Script{Name: "s", Content: *text1("x = 1")} }), "chains[0].steps[1].script: s: the script defines none of"},
		{"phase", func(p *rv.Plan) { p.Chains[0].Phase = "lunch" }, `chains[0].phase: there is no "lunch"`},
		{"publish", func(p *rv.Plan) { p.Chains[0].Publish = []int{1} }, "chains[0].publish[0]: there is no global 1"},
		{"no load", func(p *rv.Plan) { p.Chains[0].Phase, p.Chains[1].Phase = rv.PhaseSetup, rv.PhaseTeardown }, "chains: all chains are setup or teardown chains; at least one load chain is required"},
		{"url", func(p *rv.Plan) { p.Targets[0].Endpoints[0].URL = rv.Text{{Variable: 1}} }, "targets[0].endpoints[0]: the value of variable ue is not constant on a runner"},
		{"url's form", func(p *rv.Plan) { p.Targets[0].Endpoints[0].URL = lit("ftp://a") }, "targets[0].endpoints[0]: must begin with http:// or https://"},
		{"url's scheme", func(p *rv.Plan) { p.Targets[0].Endpoints[0].URL = lit("https://a") }, "targets[0].endpoints[0]: the scheme is https, which does not match"},
	} {
		p := lifeCycle()
		tt.edit(p)
		_, err := Load(p, machine(0))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v quotes a file", tt.name, err)
		}
	}
}

func TestCompileHasNoFiles(t *testing.T) {
	p := drawPlan(variableText(1), rv.Variable{Name: "f", Constant: &rv.Content{File: "/secret"}})
	if _, err := Load(p, Resources{}); err == nil || !strings.Contains(err.Error(), "/secret") || errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestLoadReturnsAllMistakes: those that follow from another one are left out.
func TestLoadReturnsAllMistakes(t *testing.T) {
	p := lifeCycle()
	p.Variables = append(p.Variables,
		rv.Variable{Name: "unset", Env: &rv.Env{Name: "NONE"}},
		rv.Variable{Name: "table", CSV: &rv.CSV{Content: rv.Content{File: "/none"}}},
		rv.Variable{Name: "key", Subscribers: &rv.Subscribers{Count: 1, SUPI: rv.SUPI{MCC: "001", MNC: "01", Digits: 15}, AKA: &rv.AKA{K: *text1("short"), OPc: text1(testOPc)}}},
	)
	unset, table := len(p.Variables)-2, len(p.Variables)-1
	p.Targets = append(p.Targets, rv.Target{Endpoints: []rv.Endpoint{{Scheme: "http"}, {URL: rv.Text{{Literal: "http://"}, {Variable: unset}}}, {URL: lit("ftp://a")}}})
	step := &p.Chains[0].Steps[1]
	step.Path = rv.Text{{Literal: "/"}, {Variable: table, Column: "any"}, {Variable: unset, Functions: []rv.Function{{Name: rv.FunctionUpper}}}}
	step.Headers = []rv.Header{{Name: lit("a"), Value: rv.Text{{Variable: unset}}}, {Name: lit("b"), Value: rv.Text{{Capture: 9}}}}
	step.Expect.Checks = []rv.Check{{Name: "c", Schema: &rv.Content{Text: "{"}}}
	step.Script = &rv.Script{Name: "s", Content: *text1("unset = 1")}
	p.Chains[0].Steps[0].Think = &rv.Think{Min: 2, Max: 1}
	_, err := Load(p, machine(0))
	var all Errors
	if !errors.As(err, &all) {
		t.Fatal(err)
	}
	got := map[rv.Place]bool{}
	for _, e := range all {
		got[e.Place] = true
	}
	at := func(step int, field string, item int) rv.Place {
		return rv.Place{List: rv.PlaceChains, Step: step, Field: field, Item: item}
	}
	want := map[rv.Place]bool{
		{List: rv.PlaceVariables, Index: unset - 1, Field: "env"}:           true,
		{List: rv.PlaceVariables, Index: table - 1, Field: "csv"}:           true,
		{List: rv.PlaceVariables, Index: table, Field: "subscribers.aka.k"}: true,
		{List: rv.PlaceTargets, Index: 1, Field: "endpoints", Item: 3}:      true,
		at(1, "think", 0): true, at(2, "headers", 2): true, at(2, "expect.checks", 1): true, at(2, "script", 0): true,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(all) != len(want) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if !errors.Is(all[0], ErrUnset) || !errors.Is(all[1], os.ErrNotExist) {
		t.Errorf("%v and %v", all[0], all[1])
	}
}
