package plan_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/plan"
)

// sound is a small plan that has something of everything.
func sound() *runnerv1alpha1.Plan {
	return &runnerv1alpha1.Plan{
		APIVersion: runnerv1alpha1.APIVersion,
		Kind:       runnerv1alpha1.PlanKind,
		Name:       "default/test",
		Seed:       1<<64 - 1,
		Targets: []runnerv1alpha1.Target{{
			Name: "t", Endpoints: []runnerv1alpha1.Endpoint{{Scheme: "http", Authority: "a<b>&", Address: "a:80"}},
			Protocol: runnerv1alpha1.ProtocolH2C, Connections: 2, MaxConcurrentStreams: 1, ConnectTimeout: time.Second,
		}},
		Variables: []runnerv1alpha1.Variable{
			{Name: "r", Range: &runnerv1alpha1.Range{Start: 0, End: 10, Step: 3}},
			{Name: "l", List: []string{"a"}},
			{Name: "t", Scope: runnerv1alpha1.ScopeStep, CSV: &runnerv1alpha1.CSV{Content: runnerv1alpha1.Content{File: "/t"}}},
			{Name: "n", Random: &runnerv1alpha1.Random{Choice: []runnerv1alpha1.Choice{{Value: "a", Weight: 1}}}},
			{Name: "now", Timestamp: &runnerv1alpha1.Timestamp{Format: runnerv1alpha1.TimeRFC3339}},
		},
		Globals: []string{"g"},
		Chains: []runnerv1alpha1.Chain{
			{
				Name: "begin", Phase: runnerv1alpha1.PhaseSetup, Weight: 1, Captures: []string{"g"}, Publish: []int{1},
				Steps: []runnerv1alpha1.Step{{
					Name: "s", Method: "GET", Path: runnerv1alpha1.Text{{Literal: "/"}}, Timeout: time.Second,
					Capture: []runnerv1alpha1.Capture{{Source: runnerv1alpha1.Source{Kind: runnerv1alpha1.SourceXPath, XPath: "//a", Regex: "(a)", Group: 1}}},
				}},
			},
			{
				Name: "c", Weight: 1, Captures: []string{"x"}, MaxInFlight: 2,
				Steps: []runnerv1alpha1.Step{
					{
						Name: "s", Method: "GET", Path: runnerv1alpha1.Text{{Literal: "/"}, {Variable: 2}, {Capture: 1}, {Global: 1}, {Variable: 3, Column: "c"}}, Timeout: time.Second,
						Headers: []runnerv1alpha1.Header{{Name: runnerv1alpha1.Text{{Literal: "h"}}, Value: runnerv1alpha1.Text{
							{Literal: "v"}, {Content: &runnerv1alpha1.Content{File: "/f"}}, {Variable: 1, Functions: []runnerv1alpha1.Function{
								{Name: runnerv1alpha1.FunctionPad, Width: 3, Fill: "0"},
								{Name: runnerv1alpha1.FunctionHMACSHA256, Key: &runnerv1alpha1.Part{Capture: 1}},
							}},
						}}},
						Expect: runnerv1alpha1.Expect{
							Status: []runnerv1alpha1.StatusRange{{From: 200, To: 299}},
							Checks: []runnerv1alpha1.Check{
								{
									Name:   "fast",
									Source: &runnerv1alpha1.Source{Kind: runnerv1alpha1.SourceResponseTime},
									Match:  &runnerv1alpha1.Match{Op: runnerv1alpha1.MatchLessThan, Want: runnerv1alpha1.Text{{Literal: "20000000"}}},
								},
								{Name: "shape", Schema: &runnerv1alpha1.Content{Text: "{}"}},
							},
						},
						Capture: []runnerv1alpha1.Capture{{Slot: 0, Source: runnerv1alpha1.Source{Kind: runnerv1alpha1.SourceHeader, Name: "location"}, Location: true}},
						Think:   &runnerv1alpha1.Think{Mean: 1, Max: 10}, Repeat: 3,
						Until: []runnerv1alpha1.Condition{{
							Value: runnerv1alpha1.Text{{Capture: 1}}, Match: runnerv1alpha1.Match{Op: runnerv1alpha1.MatchMatches, Pattern: "a|b"},
						}},
						OnFailure: runnerv1alpha1.OnFailure{Retries: 1, Backoff: 1, MaxBackoff: 2},
					},
					{Name: "p", Method: "GET", Path: runnerv1alpha1.Text{{Literal: "/"}}, Timeout: 1, Group: 1, Think: &runnerv1alpha1.Think{Fixed: 1}},
					{Name: "q", Method: "GET", Path: runnerv1alpha1.Text{{Literal: "/"}}, Timeout: 1, Group: 1},
				},
			},
		},
		Rates:  []runnerv1alpha1.Rate{{Name: "r", Count: 1, Period: time.Second, Duration: time.Second}},
		Drain:  time.Second,
		Shards: 2,
	}
}

func TestBytesAndBack(t *testing.T) {
	p := sound()
	canonical, sum, err := plan.Canonical(p)
	if err != nil {
		t.Fatal(err)
	}
	// The operator compares the stored hash of a plan with the hash that a later version computes.
	if want := "6dbc89aa413ef5e913cc0e21b3e9e9b6294f125c5d46ed74af7bdb8ce468e889"; sum != want {
		t.Errorf("hash is %s, want %s: the canonical form has changed", sum, want)
	}
	if bytes.Contains(canonical, []byte(`\u003c`)) || bytes.HasSuffix(canonical, []byte("\n")) {
		t.Errorf("not canonical: %s", canonical)
	}
	gz, err := plan.Gzip(canonical)
	if err != nil {
		t.Fatal(err)
	}
	again, err := plan.Gzip(canonical)
	if err != nil || !bytes.Equal(gz, again) {
		t.Errorf("compressed twice, the bytes differ (%v)", err)
	}
	back, err := plan.Decode(gz, sum)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var other *plan.DigestError
	if _, err := plan.Decode(gz, strings.Repeat("0", 64)); !errors.As(err, &other) || other.Have != sum {
		t.Errorf("a plan with another digest: %v", err)
	}
}

// TestHash: the policy of an operator is in the digest, which says what runs, and not in the hash, which says what a user asked for.
func TestHash(t *testing.T) {
	p, denying := sound(), sound()
	denying.RequestLimit = 500
	if hash, err := plan.PolicyHash(p); hash != "" || err != nil {
		t.Errorf("without a policy, its hash is %q (%v)", hash, err)
	}
	limited, err := plan.PolicyHash(denying)
	if err != nil {
		t.Fatal(err)
	}
	denying.Policy = &runnerv1alpha1.AddressPolicy{Denied: []runnerv1alpha1.AddressRule{{Name: "Nodes", CIDRs: []string{"10.0.0.1/32"}}}}
	_, digest, err := plan.Canonical(p)
	if err != nil {
		t.Fatal(err)
	}
	if hash, err := plan.Hash(p); hash != digest || err != nil {
		t.Errorf("without a policy, hash %s (%v) is not digest %s", hash, err, digest)
	}
	if hash, err := plan.Hash(denying); hash != digest || err != nil {
		t.Errorf("with a policy, hash %s (%v), want %s", hash, err, digest)
	}
	if _, other, err := plan.Canonical(denying); other == digest || err != nil {
		t.Errorf("with a policy, the digest is the same (%v)", err)
	}
	if hash, err := plan.PolicyHash(denying); len(hash) != 64 || hash == limited || err != nil {
		t.Errorf("the policy has the hash %q, and without addresses %q (%v)", hash, limited, err)
	}
	if denying.Policy == nil || denying.RequestLimit == 0 {
		t.Error("Hash changed the plan")
	}
}

// TestGzipHasNoTime: the header of RFC 1952 2.3 has neither time nor name.
func TestGzipHasNoTime(t *testing.T) {
	gz, err := plan.Gzip([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if flags, mtime := gz[3], gz[4:8]; flags != 0 || !bytes.Equal(mtime, make([]byte, 4)) {
		t.Errorf("flags %x, mtime %x", flags, mtime)
	}
}

func TestTooLarge(t *testing.T) {
	noise := make([]byte, plan.MaxCompressed+1)
	random := rand.NewChaCha8([32]byte{})
	if _, err := random.Read(noise); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		bytes []byte
		what  string
	}{
		{"canonical", make([]byte, plan.MaxCanonical+1), "canonical"},
		{"compressed", noise, "compressed"},
	} {
		_, err := plan.Gzip(tc.bytes)
		var large *plan.TooLargeError
		if !errors.As(err, &large) || large.What != tc.what || large.Size <= large.Limit {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func gz(t *testing.T, s string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestDecodeRefuses(t *testing.T) {
	canonical, _, err := plan.Canonical(sound())
	if err != nil {
		t.Fatal(err)
	}
	whole := gz(t, string(canonical))
	for _, tc := range []struct {
		name  string
		input []byte
		want  string
	}{
		{"nothing", nil, "decompressing the plan"},
		{"no gzip", []byte("{}"), "decompressing the plan"},
		{"a part", whole[:len(whole)-4], "decompressing the plan"},
		{"a bomb", gz(t, strings.Repeat(" ", plan.MaxCanonical+1)), "allowed: at most 16777216"},
		{"an unknown field", gz(t, `{"shardz":1}`), `unknown field "shardz"`},
		{"two documents", gz(t, string(canonical)+"{}"), "there is more data"},
		{"something else", gz(t, `{"apiVersion":"v1","kind":"List"}`), `kind "List" is not "Plan"`},
	} {
		if _, err := plan.Decode(tc.input, ""); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := plan.Check(sound()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		want   string
		damage func(*runnerv1alpha1.Plan)
	}{
		{"apiVersion", func(p *runnerv1alpha1.Plan) { p.APIVersion = "v2" }},
		{"kind", func(p *runnerv1alpha1.Plan) { p.Kind = "" }},
		{"shards is 0", func(p *runnerv1alpha1.Plan) { p.Shards = 0 }},
		{"cpusPerShard is -1", func(p *runnerv1alpha1.Plan) { p.CPUsPerShard = -1 }},
		{"drain is 0s", func(p *runnerv1alpha1.Plan) { p.Drain = 0 }},
		{"deadline -1ns", func(p *runnerv1alpha1.Plan) { p.Deadline = -1 }},
		{"no target", func(p *runnerv1alpha1.Plan) { p.Targets = nil }},
		{"no endpoint", func(p *runnerv1alpha1.Plan) { p.Targets[0].Endpoints = nil }},
		{"1 connections for 2 shards", func(p *runnerv1alpha1.Plan) { p.Targets[0].Connections = 1 }},
		{"0 streams", func(p *runnerv1alpha1.Plan) { p.Targets[0].MaxConcurrentStreams = 0 }},
		{"protocol \"\"", func(p *runnerv1alpha1.Plan) { p.Targets[0].Protocol = "" }},
		{"has protocol h2, and tls is false", func(p *runnerv1alpha1.Plan) { p.Targets[0].Protocol = runnerv1alpha1.ProtocolH2 }},
		{"has protocol alpn, and tls is false", func(p *runnerv1alpha1.Plan) { p.Targets[0].Protocol = runnerv1alpha1.ProtocolALPN }},
		{"endpoint of https, and tls is false", func(p *runnerv1alpha1.Plan) { p.Targets[0].Endpoints[0].Scheme = "https" }},
		{"endpoint of http, and tls is true", func(p *runnerv1alpha1.Plan) {
			p.Targets[0].Protocol, p.Targets[0].TLS = runnerv1alpha1.ProtocolH2, &runnerv1alpha1.TLS{ALPN: []string{"h2"}}
		}},
		{"has protocol h2c, and tls is true", func(p *runnerv1alpha1.Plan) {
			p.Targets[0].Endpoints[0].Scheme, p.Targets[0].TLS = "https", &runnerv1alpha1.TLS{ALPN: []string{"h2"}}
		}},
		{"no protocol by ALPN", func(p *runnerv1alpha1.Plan) { p.Targets[0].TLS = &runnerv1alpha1.TLS{} }},
		{"a pipeline of -1", func(p *runnerv1alpha1.Plan) { p.Targets[0].HTTP1.Pipeline = -1 }},
		{"opens 1 connections in 0s", func(p *runnerv1alpha1.Plan) { p.Targets[0].Connecting.RampCount = 1 }},
		{"opens -1 connections", func(p *runnerv1alpha1.Plan) { p.Targets[0].Connecting.RampCount = -1 }},
		{"a limit below zero", func(p *runnerv1alpha1.Plan) { p.Targets[0].Connecting.MaxAge = -1 }},
		{"connectTimeout 0s", func(p *runnerv1alpha1.Plan) { p.Targets[0].ConnectTimeout = 0 }},
		{"targets[0].auth is not exactly one", func(p *runnerv1alpha1.Plan) { p.Targets[0].Auth = &runnerv1alpha1.Auth{} }},
		{"variables[1] has 0 sources", func(p *runnerv1alpha1.Plan) { p.Variables[1].List = nil }},
		{"variables[0] has 2 sources", func(p *runnerv1alpha1.Plan) { p.Variables[0].List = []string{"a"} }},
		{"variables[0] has scope \"all\"", func(p *runnerv1alpha1.Plan) { p.Variables[0].Scope = "all" }},
		{"variables[0] has order \"down\"", func(p *runnerv1alpha1.Plan) { p.Variables[0].Order = "down" }},
		{"csv has several contents", func(p *runnerv1alpha1.Plan) { p.Variables[2].CSV.Content.Text = "a" }},
		{"random has 2 kinds", func(p *runnerv1alpha1.Plan) { p.Variables[3].Random.Hex = 1 }},
		{"random has a weight of 0", func(p *runnerv1alpha1.Plan) { p.Variables[3].Random.Choice[0].Weight = 0 }},
		{"has format \"\"", func(p *runnerv1alpha1.Plan) { p.Variables[4].Timestamp.Format = "" }},
		{"empty range", func(p *runnerv1alpha1.Plan) { p.Variables[0].Range.Step = 0 }},
		{"empty range", func(p *runnerv1alpha1.Plan) { p.Variables[0].Range.End = 0 }},
		{"variables[0] has", func(p *runnerv1alpha1.Plan) { p.Variables[0].Range.End, p.Variables[0].Range.Step = 1<<63-1, 1<<62 }},
		{"no chain", func(p *runnerv1alpha1.Plan) { p.Chains = nil }},
		{"target is 1", func(p *runnerv1alpha1.Plan) { p.Chains[1].Target = 1 }},
		{"target is -1", func(p *runnerv1alpha1.Plan) { p.Chains[1].Target = -1 }},
		{"steps[0].target is 1", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Target = 1 }},
		{"is not that of its first step", func(p *runnerv1alpha1.Plan) { p.Targets = append(p.Targets, p.Targets[0]); p.Chains[1].Target = 1 }},
		{"weight is 0", func(p *runnerv1alpha1.Plan) { p.Chains[1].Weight = 0 }},
		{"weight is 281474976710657", func(p *runnerv1alpha1.Plan) { p.Chains[1].Weight = plan.MaxWeight + 1 }},
		{"has no step", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps = nil }},
		{"has phase \"later\"", func(p *runnerv1alpha1.Plan) { p.Chains[1].Phase = "later" }},
		{"no chain that begins", func(p *runnerv1alpha1.Plan) { p.Chains[1].Delay = 1 }},
		{"delay is -1ns", func(p *runnerv1alpha1.Plan) { p.Chains[1].Delay = -1 }},
		{"1 instances for 2 shards", func(p *runnerv1alpha1.Plan) { p.Chains[1].MaxInFlight = 1 }},
		{"bounds of the load", func(p *runnerv1alpha1.Plan) { p.Chains[0].MaxInFlight = 2 }},
		{"publishes 0 of 1", func(p *runnerv1alpha1.Plan) { p.Chains[0].Publish = nil }},
		{"publishes global 2", func(p *runnerv1alpha1.Plan) { p.Chains[0].Publish[0] = 2 }},
		{"publishes values and is not a setup", func(p *runnerv1alpha1.Plan) { p.Chains[1].Publish = []int{1} }},
		{"group 1, which has ended", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Group, p.Chains[1].Steps[1].Group = 1, 0 }},
		{"a group and repeated", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[1].Repeat = 2 }},
		{"in the middle of its group", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[2].Think = p.Chains[1].Steps[1].Think }},
		{"no method", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Method = "" }},
		{"no path", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path = nil }},
		{"timeout 2s", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Timeout = 2 * time.Second }},
		{"maxBody -1", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].MaxBody = -1 }},
		{"has a field for redirects and follows none", func(p *runnerv1alpha1.Plan) {
			p.Chains[1].Steps[0].MaxRedirects, p.Chains[1].Steps[0].RedirectField = 0, "x"
		}},
		{"has two bodies", func(p *runnerv1alpha1.Plan) {
			p.Chains[1].Steps[0].Body, p.Chains[1].Steps[0].BodyFrom = p.Chains[1].Steps[0].Path, &runnerv1alpha1.BodyFrom{}
		}},
		{"reads variable 6", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path[1].Variable = 6 }},
		{"reads variable -1", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path[1].Variable = -1 }},
		{"reads capture 2", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path[2].Capture = 2 }},
		{"reads global 2", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path[3].Global = 2 }},
		{"reads column \"\"", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path[4].Column = "" }},
		{"reads column \"c\"", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path[4].Variable = 1 }},
		{"a part with 0 values", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Headers[0].Value[0].Literal = "" }},
		{"a part with 2 values", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Path[1].Literal = "x" }},
		{"calls \"reverse\"", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Headers[0].Value[2].Functions[0].Name = "reverse" }},
		{"pads to 0", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Headers[0].Value[2].Functions[0].Width = 0 }},
		{"without a key", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Headers[0].Value[2].Functions[1].Key = nil }},
		{"header without a name", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Headers[0].Name = nil }},
		{"captures into slot 1", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Capture[0].Slot = 1 }},
		{"takes its value from \"\"", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Capture[0].Source.Kind = "" }},
		{"takes the header named \"\"", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Capture[0].Source.Name = "" }},
		{"takes the xpath \"\"", func(p *runnerv1alpha1.Plan) { p.Chains[0].Steps[0].Capture[0].Source.XPath = "" }},
		{"takes group 2", func(p *runnerv1alpha1.Plan) { p.Chains[0].Steps[0].Capture[0].Source.Group = 2 }},
		{"takes group 1", func(p *runnerv1alpha1.Plan) { p.Chains[0].Steps[0].Capture[0].Source.Regex = "(" }},
		{"checks[0] has no name", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Expect.Checks[0].Name = "" }},
		{"not exactly one of schema and match", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Expect.Checks[1].Schema = nil }},
		{"not exactly one of schema and match", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Expect.Checks[0].Match = nil }},
		{"compares by \"is\"", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Expect.Checks[0].Match.Op = "is" }},
		{"a pattern that is not a regular expression", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Until[0].Match.Pattern = "(" }},
		{"with the pattern", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Until[0].Match.Pattern = "" }},
		{"does not want exists", func(p *runnerv1alpha1.Plan) {
			p.Chains[1].Steps[0].Expect.Checks[0].Match.Op = runnerv1alpha1.MatchExists
		}},
		{"think is", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Think.Max = 0 }},
		{"think is", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Think.Fixed = 1 }},
		{"onFailure is", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].OnFailure.MaxBackoff = 0 }},
		{"repeated -1 times", func(p *runnerv1alpha1.Plan) { p.Chains[1].Steps[0].Repeat = -1 }},
		{"259 steps", func(p *runnerv1alpha1.Plan) {
			for len(p.Chains[1].Steps) < 258 {
				p.Chains[1].Steps = append(p.Chains[1].Steps, p.Chains[1].Steps[0])
			}
		}},
		{"status 299 to 200", func(p *runnerv1alpha1.Plan) {
			p.Chains[1].Steps[0].Expect.Status[0] = runnerv1alpha1.StatusRange{From: 299, To: 200}
		}},
		{"rates[0]: exactly one of", func(p *runnerv1alpha1.Plan) { p.Rates[0].ClosedLoop = true }},
		{"rates[0]: exactly one of", func(p *runnerv1alpha1.Plan) { p.Rates[0].Count, p.Rates[0].Period = 0, 0 }},
		{"rates[0]: count must not be negative", func(p *runnerv1alpha1.Plan) { p.Rates[0].Period = 0 }},
		{"rates[0]: count must not be negative", func(p *runnerv1alpha1.Plan) { p.Rates[0].Count = -1 }},
		{"rates[0]: a ramp, and a count of 0, need", func(p *runnerv1alpha1.Plan) { r := &p.Rates[0]; r.Count, r.Duration, r.Requests = 0, 0, 1 }},
		{"rates[0]: a ramp, and a count of 0, need", func(p *runnerv1alpha1.Plan) {
			r := &p.Rates[0]
			r.RampFrom, r.Duration, r.Requests = new(int64(1)), 0, 1
		}},
		{"rates[0]: rampFrom must not", func(p *runnerv1alpha1.Plan) { p.Rates[0].RampFrom = new(int64(-1)) }},
		{"rates[0]: burstSize and", func(p *runnerv1alpha1.Plan) { p.Rates[0].Arrivals = runnerv1alpha1.ArrivalsBurst }},
		{"rates[0]: burstSize and", func(p *runnerv1alpha1.Plan) { p.Rates[0].BurstSize = 1 }},
		{`rates[0]: arrivals "poisson"`, func(p *runnerv1alpha1.Plan) { p.Rates[0].Arrivals = "poisson" }},
		{"rates[0]: a positive duration or", func(p *runnerv1alpha1.Plan) { p.Rates[0].Duration = 0 }},
		{"no measured", func(p *runnerv1alpha1.Plan) { p.Rates[0].WarmUp = true }},
	} {
		p := sound()
		tc.damage(p)
		if err := plan.Check(p); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %q", err, tc.want)
		}
	}
}

// FuzzParse: no bytes make Parse panic, and what it takes is canonical after one round.
func FuzzParse(f *testing.F) {
	canonical, _, err := plan.Canonical(sound())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(canonical)
	f.Add([]byte(fmt.Sprintf(`{"apiVersion":%q,"kind":"Plan","chains":[{"steps":[{}]}]}`, runnerv1alpha1.APIVersion)))
	f.Fuzz(func(t *testing.T, input []byte) {
		p, err := plan.Parse(input)
		if err != nil {
			return
		}
		first, sum, err := plan.Canonical(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := plan.Parse(first)
		if err != nil {
			t.Fatal(err)
		}
		if _, sum2, err := plan.Canonical(again); err != nil || sum2 != sum {
			t.Errorf("%s became %s (%v)", sum, sum2, err)
		}
	})
}
