package chain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2/hpack"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

func lit(s string) rv.Text { return rv.Text{{Literal: s}} }

// lifeCycle is a plan with the chain POST, PATCH, DELETE and another chain of one GET.
func lifeCycle() *rv.Plan {
	second := time.Second
	return &rv.Plan{
		Targets: []rv.Target{{Name: "t", Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "t.example:80", Address: "t.example:80", BasePath: "/base"}}}},
		Variables: []rv.Variable{
			{Name: "ue", Range: &rv.Range{Start: 5, End: 1000, Step: 5, Width: 6}},
			{Name: "colour", List: []string{"red", "green"}},
		},
		Chains: []rv.Chain{{
			Name: "life", Weight: 3, Captures: []string{"session"},
			Steps: []rv.Step{
				{
					Name: "create", Method: "POST", Path: lit("/sessions"), Timeout: second,
					Headers: []rv.Header{{Name: rv.Text{{Literal: "content-type"}}, Value: lit("application/json")}},
					Body:    rv.Text{{Literal: `{"ue":"`}, {Variable: 1}, {Literal: `"}`}},
					Expect:  rv.Expect{Status: []rv.StatusRange{{From: 201, To: 201}}},
					Capture: []rv.Capture{{Slot: 0, Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}, Location: true}},
				},
				{
					Name: "update", Method: "PATCH", Path: rv.Text{{Capture: 1}}, Timeout: 2 * second,
					Headers: []rv.Header{{Name: rv.Text{{Literal: "content-type"}}, Value: lit("application/json")}, {Name: rv.Text{{Literal: "x-colour"}}, Value: rv.Text{{Literal: "c-"}, {Variable: 2}}}},
					Body:    lit("{}"),
				},
				{Name: "delete", Method: "DELETE", Path: rv.Text{{Capture: 1}}, Timeout: second},
			},
		}, {
			Name: "look", Weight: 1,
			Steps: []rv.Step{{Name: "get", Method: "GET", Path: rv.Text{{Literal: "/"}, {Variable: 2}}, Timeout: second, Headers: []rv.Header{{Name: rv.Text{{Literal: "User-Agent"}}, Value: lit("own")}}}},
		}},
		Rates: []rv.Rate{{Name: "r", ClosedLoop: true, Requests: 1}},
	}
}

func program(t *testing.T, p *rv.Plan) *Program {
	t.Helper()
	g, err := Load(p, Resources{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sources is the only worker of a test.
func sources(g *Program) *Sources {
	return NewSources(g, &rv.Share{Slots: rv.Slots{Of: 1, Residues: []int64{0}}}, 0)
}

// request renders a step as its sender would and reads it back with an independent decoder.
func request(t *testing.T, e *Encoder, d *hpack.Decoder, s *Step, in *Instance, state TableState) ([]string, string, TableState) {
	t.Helper()
	body := s.AppendBody(nil, in)
	prefix := []byte("prefix")
	block, next := e.AppendHeaders(prefix, s, in, len(body), state, nil)
	if string(block[:6]) != "prefix" {
		t.Fatal("AppendHeaders does not append")
	}
	fields, err := d.DecodeFull(block[6:])
	if err != nil {
		t.Fatalf("step %d in state %d: %v", s.Index, state, err)
	}
	var out []string
	for _, f := range fields {
		out = append(out, f.Name+": "+f.Value)
	}
	return out, string(body), next
}

func TestRequestsOfAChain(t *testing.T) {
	g := program(t, lifeCycle())
	src := sources(g)
	e := NewEncoder(g, 0, &g.Targets[0].Endpoints[0])
	d := hpack.NewDecoder(MaxTable, nil)
	var in Instance
	state := e.Begin(MaxTable)
	for round, ue := range []string{"000005", "000010"} {
		in.Start(g, 0, src, 0)
		var got [][]string
		for i := range 3 {
			fields, body, next := request(t, e, d, &g.Steps[i], &in, state)
			got = append(got, append(fields, body))
			state = next
			if i == 0 && !in.Capture(0, []byte("/base/sessions/42")) {
				t.Fatal("no room for a capture")
			}
		}
		colour := []string{"red", "green"}[round]
		want := [][]string{
			{
				":method: POST", ":scheme: http", ":authority: t.example:80", ":path: /base/sessions",
				"content-type: application/json", "user-agent: h2surge", "content-length: 15", `{"ue":"` + ue + `"}`,
			}, {
				":method: PATCH", ":scheme: http", ":authority: t.example:80", ":path: /base/sessions/42",
				"content-type: application/json", "x-colour: c-" + colour, "user-agent: h2surge", "content-length: 2", "{}",
			}, {
				":method: DELETE", ":scheme: http", ":authority: t.example:80", ":path: /base/sessions/42", "user-agent: h2surge", "",
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
	if state != 3 {
		t.Errorf("after the three steps of the chain the table is in state %d, want 3", state)
	}
}

// TestEveryOrderDecodes sends steps in random order over connections whose tables are in
// different states but share one encoder.
func TestEveryOrderDecodes(t *testing.T) {
	g := program(t, lifeCycle())
	src := sources(g)
	e := NewEncoder(g, 0, &g.Targets[0].Endpoints[0])
	r := rand.New(rand.NewPCG(3, 4))
	type connection struct {
		state TableState
		dec   *hpack.Decoder
	}
	var conns []*connection
	for _, size := range []uint32{MaxTable, MaxTable, 0, 64, MaxTable} {
		c := &connection{state: e.Begin(size), dec: hpack.NewDecoder(size, nil)}
		if size < MaxTable && c.state != Static {
			t.Fatalf("a table of %d is large enough?", size)
		}
		conns = append(conns, c)
	}
	var in Instance
	for range 500 {
		c := conns[r.IntN(len(conns))]
		s := &g.Steps[r.IntN(len(g.Steps))]
		in.Start(g, s.Chain, src, 0)
		path := "/x/" + strings.Repeat("y", r.IntN(400))
		if g.Chains[s.Chain].Captures > 0 {
			in.Capture(0, []byte(path))
		}
		fields, _, next := request(t, e, c.dec, s, &in, c.state)
		c.state = next
		if s.Index == 2 && fields[3] != ":path: "+path {
			t.Fatalf("path of %d bytes came out as %q", len(path), fields[3])
		}
	}
}

// TestEncodersShareBlocks: the workers of a program share the blocks of an endpoint, and nothing with other endpoints.
func TestEncodersShareBlocks(t *testing.T) {
	g := program(t, lifeCycle())
	e := g.Targets[0].Endpoints[0]
	other := e
	other.Authority = "other:81"
	// block returns where the block of the first step is, after an encoder has made or found it.
	block := func(at *rv.Endpoint) *byte {
		enc := NewEncoder(g, 0, at)
		var in Instance
		in.Start(g, 0, sources(g), 0)
		enc.AppendHeaders(nil, &g.Steps[0], &in, 0, 0, nil)
		return &enc.blocks[0][1].ops[0].literal[0]
	}
	var workers sync.WaitGroup
	var found [8]*byte
	for i := range found {
		workers.Go(func() { found[i] = block(&e) })
	}
	workers.Wait()
	for _, at := range found {
		if at != found[0] || at == block(&other) {
			t.Error("a block of its own for a worker, or one for two endpoints")
		}
	}
}

func TestCapturedPathIsEncoded(t *testing.T) {
	g := program(t, lifeCycle())
	e := NewEncoder(g, 0, &g.Targets[0].Endpoints[0])
	var in Instance
	in.Start(g, 0, sources(g), 0)
	in.Capture(0, []byte("/a b\x7f/%20\xc3\xa9#"))
	fields, _, _ := request(t, e, hpack.NewDecoder(MaxTable, nil), &g.Steps[2], &in, Static)
	if want := ":path: /a%20b%7F/%20%C3%A9%23"; fields[3] != want {
		t.Errorf("%q, want %q", fields[3], want)
	}
}

func TestRenderingAllocatesNothing(t *testing.T) {
	g := program(t, lifeCycle())
	src := sources(g)
	e := NewEncoder(g, 0, &g.Targets[0].Endpoints[0])
	var in Instance
	in.Start(g, 0, src, 0)
	in.Capture(0, []byte("/s/1"))
	buf, body, state := make([]byte, 0, 1024), make([]byte, 0, 1024), TableState(0)
	round := func() {
		in.Start(g, 0, src, 0)
		in.Capture(0, []byte("/s/1"))
		for i := range 3 {
			body = g.Steps[i].AppendBody(body[:0], &in)
			buf, state = e.AppendHeaders(buf[:0], &g.Steps[i], &in, len(body), state, nil)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations a chain", n)
	}
}

func TestAccepts(t *testing.T) {
	g := program(t, lifeCycle())
	for _, tt := range []struct {
		step, status int
		want         bool
	}{
		{0, 201, true},
		{0, 200, false},
		{2, 200, true},
		{2, 399, true},
		{2, 400, false},
		{2, 599, false},
		{2, 0, false},
		{2, -1, false},
		{2, 999, false},
	} {
		if got := g.Steps[tt.step].Accepts(tt.status); got != tt.want {
			t.Errorf("step %d accepts %d: %v, want %v", tt.step, tt.status, got, tt.want)
		}
	}
}

func TestWeightedRoundRobinKeepsProportions(t *testing.T) {
	p := lifeCycle()
	w := NewWeightedRoundRobin(program(t, p), nil)
	var got [2]int
	longest, run := 0, 0
	for range 4000 {
		c := w.Next(nil)
		got[c]++
		if run++; c == 1 {
			run = 0
		}
		longest = max(longest, run)
	}
	if got != [2]int{3000, 1000} || longest > 3 {
		t.Errorf("picked %v with runs of %d, want exactly [3000 1000] with runs of 3", got, longest)
	}
	only := w.Next(func(c int) bool { return c == 1 })
	if only != 1 || w.Next(func(int) bool { return false }) != -1 {
		t.Error("a wheel must not pick what may not be picked")
	}
}

func TestCapturesAreBounded(t *testing.T) {
	g := program(t, lifeCycle())
	var in Instance
	in.Start(g, 0, sources(g), 0)
	if in.Has(0) {
		t.Error("a new instance has captured something")
	}
	if in.Capture(0, make([]byte, MaxCaptured+1)) || in.Has(0) {
		t.Error("more than MaxCaptured bytes were captured")
	}
	if !in.Capture(0, []byte("v")) || string(in.Captured(0)) != "v" {
		t.Error("a small value was not captured")
	}
	if !in.CaptureMore(0, []byte("w")) || string(in.Captured(0)) != "v, w" {
		t.Errorf("two lines are captured as %q", in.Captured(0))
	}
	if in.CaptureMore(0, make([]byte, MaxCaptured-5)) || in.Has(0) {
		t.Error("lines with more than MaxCaptured bytes were captured")
	}
	if in.CaptureMore(0, []byte("x")) || in.Has(0) {
		t.Errorf("lines of which one is missing are captured as %q", in.Captured(0))
	}
}

func TestCompileTellsTheFault(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(p *rv.Plan)
		want string
	}{
		{"no chains", func(p *rv.Plan) { p.Chains = nil }, "targets, chains and rates are required"},
		{"no endpoints", func(p *rv.Plan) { p.Targets[0].Endpoints = nil }, "targets[0].endpoints: empty"},
		{"unknown target", func(p *rv.Plan) { p.Chains[1].Steps[0].Target = 1 }, "chains[1].steps[0].target: there is no target 1"},
		{"weight", func(p *rv.Plan) { p.Chains[0].Weight = 0 }, "chains[0].weight: 0 is below 1"},
		{"variable", func(p *rv.Plan) { p.Chains[1].Steps[0].Path = rv.Text{{Variable: 3}} }, "chains[1].steps[0].path: there is no variable 3"},
		{"capture", func(p *rv.Plan) { p.Chains[1].Steps[0].Path = rv.Text{{Capture: 1}} }, "chains[1].steps[0].path: there is no capture 1"},
		{"slot", func(p *rv.Plan) { p.Chains[0].Steps[0].Capture[0].Slot = 1 }, "chains[0].steps[0].capture[0]: there is no slot 1"},
		{"negative number", func(p *rv.Plan) { p.Chains[0].Steps[0].Capture[0].Slot = -1 }, "chains[0].steps[0].capture[0].slot: -1 is negative"},
		{"long duration", func(p *rv.Plan) { p.Targets[0].ConnectTimeout = math.MaxInt64 }, "targets[0].connectTimeout: 2562047h47m16.854775807s is longer than 87600h0m0s"},
		{"long stages", func(p *rv.Plan) { p.Rates[0].Duration = longest; p.Rates = append(p.Rates, p.Rates[0]) }, "rates[1].duration: all stages together are longer than 87600h0m0s"},
		{"rate", func(p *rv.Plan) { p.Rates[0] = rv.Rate{Count: 2, Period: 10, Duration: 1} }, "rates[0]: count and rampFrom must be at most 100000000 per second"},
		{"burst", func(p *rv.Plan) {
			p.Rates[0] = rv.Rate{Count: 1, Period: 10, Duration: 1, Arrivals: rv.ArrivalsBurst, BurstSize: 1 << 20}
		}, "rates[0]: burstSize must be at most 1000000"},
		{"random string", func(p *rv.Plan) { p.Variables[0] = rv.Variable{Random: &rv.Random{Hex: 1025}} }, "variables[0].random: hex: a length from 1 to 1024 and an alphabet of at most 256 bytes are required"},
		{"timeout", func(p *rv.Plan) { p.Chains[0].Steps[0].Timeout = 0 }, "chains[0].steps[0].timeout: 0s is not between 0 and 24h"},
		{"status", func(p *rv.Plan) { p.Chains[0].Steps[0].Expect.Status[0].From = 99 }, "chains[0].steps[0].expect.status[0]: 99 to 201 is not a range of status codes"},
		{"method", func(p *rv.Plan) { p.Chains[0].Steps[0].Method = "A B" }, `chains[0].steps[0].method: "A B" is not a token`},
		{"header", func(p *rv.Plan) { p.Chains[0].Steps[0].Headers[0].Name = lit("a:b") }, `chains[0].steps[0].headers[0]: name: "a:b" is not a token`},
		{"path", func(p *rv.Plan) { p.Chains[0].Steps[0].Path = nil }, "chains[0].steps[0].path: empty"},
		{"range", func(p *rv.Plan) { p.Variables[0].Range.Step = 0 }, fmt.Sprintf("variables[0].range: %+v is empty or out of range", rv.Range{Start: 5, End: 1000, Width: 6})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := lifeCycle()
			tt.edit(p)
			_, err := Load(p, Resources{})
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// BenchmarkChain measures an instance of three requests over HTTP/2.
func BenchmarkChain(b *testing.B) {
	g, err := Load(lifeCycle(), Resources{})
	if err != nil {
		b.Fatal(err)
	}
	src, e := sources(g), NewEncoder(g, 0, &g.Targets[0].Endpoints[0])
	var in Instance
	var buf, body []byte
	state := TableState(0)
	session := []byte("/npcf-policyauthorization/v1/app-sessions/0123456789abcdef")
	for b.Loop() {
		in.Start(g, 0, src, 0)
		in.Capture(0, session)
		for i := range 3 {
			in.BeginStep(&g.Steps[i], 0)
			body = g.Steps[i].AppendBody(body[:0], &in)
			buf, state = e.AppendHeaders(buf[:0], &g.Steps[i], &in, len(body), state, nil)
		}
	}
}
