package loop

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/load/split"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/runner/chain"
)

// sound is a small plan that has something of everything.
func sound() *rv.Plan {
	return &rv.Plan{
		APIVersion: rv.APIVersion,
		Kind:       rv.PlanKind,
		Name:       "default/test",
		Seed:       1<<64 - 1,
		Targets: []rv.Target{{
			Name: "t", FollowAuthority: true, Endpoints: []rv.Endpoint{{Scheme: "http", Authority: "t", Address: "t:80"}},
			Protocol: rv.ProtocolH2C, Connections: 2, MaxConcurrentStreams: 1, ConnectTimeout: 20 * time.Millisecond,
		}},
		Variables: []rv.Variable{
			{Name: "r", Range: &rv.Range{Start: 0, End: 10, Step: 3}},
			{Name: "l", List: []string{"a"}},
			{Name: "t", Scope: rv.ScopeStep, CSV: &rv.CSV{Content: rv.Content{Text: "c\n1\n"}}},
			{Name: "n", Random: &rv.Random{Choice: []rv.Choice{{Value: "a", Weight: 1}}}},
			{Name: "now", Timestamp: &rv.Timestamp{Format: rv.TimeRFC3339}},
			{Name: "s", Order: rv.OrderShuffled, Subscribers: &rv.Subscribers{
				Count: 5, SUPI: rv.SUPI{MCC: "001", MNC: "01", Digits: 15}, GPSI: &rv.GPSI{Prefix: "49", Digits: 13}, PEI: &rv.PEI{TAC: "35851111", SoftwareVersion: "01"},
				IPv4: &rv.IPv4Pool{Pool: "10.0.0.0/8"}, IPv6Prefix: &rv.IPv6Pool{Pool: "2001:db8::/32", Length: 64},
				AKA: &rv.AKA{K: rv.Content{Text: strings.Repeat("0", 32)}, OPc: &rv.Content{Text: strings.Repeat("1", 32)}},
			}},
			{Name: "i", Random: &rv.Random{Integer: &rv.RandomInteger{Max: 9, Width: 2}}},
			{Name: "h", Random: &rv.Random{Hex: 4}},
			{Name: "w", Scope: rv.ScopeWorker, Random: &rv.Random{String: &rv.RandomString{Length: 3, Alphabet: "abc"}}},
			{Name: "u", UUID: true},
			{Name: "n", Counter: &rv.Counter{Start: 1, Step: 2, Width: 3}},
			{Name: "p", PerShard: []string{"a", "b"}},
			{Name: "g", Scope: rv.ScopeGlobal, Order: rv.OrderRandom, List: []string{"a", "b"}},
			{Name: "e", Env: &rv.Env{Name: "NONE", Default: new("d")}},
			{Name: "traceparent", Scope: rv.ScopeStep, Traceparent: &rv.Traceparent{Ratio: 0.5}},
			{Name: "o", Constant: &rv.Content{Bytes: []byte{1}}},
		},
		Listeners: []rv.Listener{{Name: "l", Status: 204, Pointer: "/id", ByPath: true, Headers: []rv.ListenerHeader{{Name: "a", Value: "b"}}, Body: "b", Retention: time.Second}},
		Globals:   []string{"g"},
		Chains: []rv.Chain{
			{
				Name: "begin", Phase: rv.PhaseSetup, Weight: 1, Captures: []string{"g"}, Publish: []int{1},
				Steps: []rv.Step{{
					Name: "s", Method: "GET", Path: rv.Text{{Literal: "/"}}, Timeout: 20 * time.Millisecond,
					Capture: []rv.Capture{{Source: rv.Source{Kind: rv.SourceXPath, XPath: "//a", Regex: "(a)", Group: 1}, Optional: true}},
				}},
			},
			{
				Name: "c", Weight: 1, Captures: []string{"x"}, MaxInFlight: 2,
				Steps: []rv.Step{
					{
						Name: "s", Method: "GET", Path: rv.Text{{Literal: "/"}, {Variable: 2}, {Capture: 1}, {Global: 1}, {Variable: 3, Column: "c"}}, Timeout: 20 * time.Millisecond,
						Headers: []rv.Header{{Name: rv.Text{{Literal: "h"}}, Value: rv.Text{
							{Literal: "v"}, {Content: &rv.Content{Text: "f"}}, {Variable: 1, Functions: []rv.Function{
								{Name: rv.FunctionPad, Width: 3, Fill: "0"},
								{Name: rv.FunctionHMACSHA256, Key: &rv.Part{Capture: 1}},
							}},
						}}},
						Expect: rv.Expect{
							Status: []rv.StatusRange{{From: 200, To: 299}},
							Checks: []rv.Check{
								{
									Name:   "fast",
									Source: &rv.Source{Kind: rv.SourceResponseTime},
									Match:  &rv.Match{Op: rv.MatchLessThan, Want: rv.Text{{Literal: "20000000"}}},
								},
								{Name: "shape", Schema: &rv.Content{Text: "{}"}},
							},
						},
						Capture: []rv.Capture{{Slot: 0, Source: rv.Source{Kind: rv.SourceHeader, Name: "location"}, Location: true, Optional: true}},
						Think:   &rv.Think{Mean: 1, Max: 10}, Repeat: 3,
						Until: []rv.Condition{{
							Value: rv.Text{{Capture: 1}}, Match: rv.Match{Op: rv.MatchMatches, Pattern: "a|b"},
						}},
						OnFailure: rv.OnFailure{Retries: 1, Backoff: 1, MaxBackoff: 2, Continue: true},
					},
					{Name: "p", Method: "GET", Path: lit("/"), Timeout: 20 * time.Millisecond, Group: 1, Think: &rv.Think{Fixed: 1}},
					{
						Name: "q", Method: "POST", Path: rv.Text{{Capture: 1}, {Literal: "?"}, {Variable: 6, Column: "k"}}, Timeout: 20 * time.Millisecond, Group: 1,
						BodyFrom: &rv.BodyFrom{Content: rv.Content{Text: "${s.supi} ${i} ${u}"}},
						Script:   &rv.Script{Name: "lua", Content: rv.Content{Text: `function on_request(req, prev) req:set_header("x", vars.h) end`}},
					},
					{
						Name: "r", Method: "PUT", Path: lit("/"), Timeout: 20 * time.Millisecond, MaxRedirects: 2, RedirectField: "root", Authority: lit("t"),
						When:    []rv.Condition{{Value: rv.Text{{Variable: 7}}, Match: rv.Match{Op: rv.MatchLessThan, Want: lit("5")}}},
						Headers: []rv.Header{{Name: lit("a"), Value: rv.Text{{Variable: 9}, {Variable: 10}, {Variable: 11}, {Variable: 12}, {Variable: 13}, {Variable: 14}, {Variable: 15}}, OmitEmpty: true}},
						Parts:   []rv.BodyPart{{ContentType: "text/plain", ContentID: "1", Body: rv.Text{{Variable: 8}}}},
					},
					{Name: "await", Timeout: 2 * time.Millisecond, Await: &rv.Await{Key: rv.Text{{Listener: 1}, {Variable: 4}}}, OnFailure: rv.OnFailure{Continue: true}},
					{Name: "s", Method: "GET", Path: lit("/"), Timeout: 20 * time.Millisecond},
				},
			},
			{Name: "own", Weight: 1, StartAfter: time.Millisecond, Steps: []rv.Step{{Name: "s", Method: "GET", Path: lit("/"), Timeout: 20 * time.Millisecond}}},
			{Name: "end", Phase: rv.PhaseTeardown, Weight: 1, Steps: []rv.Step{{Name: "s", Method: "GET", Path: lit("/"), Timeout: 20 * time.Millisecond}}},
		},
		Rates: []rv.Rate{
			{Name: "warm", ClosedLoop: true, Count: 3, Requests: 10, WarmUp: true},
			{Name: "even", Count: 2000, Period: time.Second, RampFrom: new(int64(1)), Duration: 60 * time.Millisecond},
			{Name: "burst", Count: 500, Period: time.Second, Arrivals: rv.ArrivalsBurst, BurstSize: 3, Duration: 20 * time.Millisecond, ChainsPerSecond: true},
			{Name: "own", Chain: 3, Count: 500, Period: time.Second, Arrivals: rv.ArrivalsPoisson, Duration: 20 * time.Millisecond},
		},
		Drain:  20 * time.Millisecond,
		Shards: 2,
	}
}

// TestDamagedPlans: each plan that differs in one field from a plan of the compiler is refused, or a worker executes it: it does not panic,
// and it ends. A plan that makes it loop forever is a timeout of the test.
func TestDamagedPlans(t *testing.T) {
	if refused, steps, err := executePlan(t, sound()); refused != nil || err != nil || steps < 7 {
		t.Fatalf("the plan that is not damaged: %v, %v, %d steps are executed", refused, err, steps)
	}
	for i := range fieldsOf(sound()) {
		for k := 0; ; k++ {
			p := sound()
			f := fieldsOf(p)[i]
			if !f.damage(k) {
				break
			}
			if _, _, err := executePlan(t, p); err != nil {
				t.Errorf("%s is %v: %v", f.path, f.Value, err)
			}
		}
	}
}

// FuzzPlan: no bytes make the decoder or the loader panic.
func FuzzPlan(f *testing.F) {
	canonical, _, err := plan.Canonical(sound())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(canonical)
	f.Fuzz(func(_ *testing.T, input []byte) {
		if p, err := plan.Parse(input); err == nil {
			_, _ = chain.Load(p, chain.Resources{})
		}
	})
}

// executePlan runs a plan on a network whose servers answer. It returns why the plan is refused, how many of its steps are executed, and the
// error of the worker.
func executePlan(t *testing.T, p *rv.Plan) (refused error, steps int, err error) {
	g, refused := chain.Load(p, chain.Resources{})
	if refused != nil {
		return refused, 0, nil
	}
	share := split.Whole(p)
	for i, n := range share.Connections {
		share.Connections[i] = min(max(n, 1), 3)
	}
	n := newFuzzNet(t, planScript(), p)
	n.http1, n.impatient = false, true
	err = n.work(p, g, share)
	for i := range n.w.rec.Steps {
		if n.w.rec.Steps[i].Sent > 0 || g.Steps[i].Await != nil {
			steps++
		}
	}
	return nil, steps, err
}

// planField is a field of a plan.
type planField struct {
	path string
	reflect.Value
}

// fieldsOf returns all fields of a plan, also those of the structs, lists and pointers in it.
func fieldsOf(p *rv.Plan) (all []planField) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
			return
		case reflect.Slice:
			for i := range v.Len() {
				walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(path, v.Elem())
			}
		}
		all = append(all, planField{path, v})
	}
	walk("plan", reflect.ValueOf(p).Elem())
	return all
}

// damage sets the field to its k-th other value. It returns false after the last one.
func (f *planField) damage(k int) bool {
	var values []reflect.Value
	switch f.Kind() {
	case reflect.Int, reflect.Int64:
		for _, n := range []int64{-1, 0, 1, 1 << 32, math.MaxInt64} {
			values = append(values, reflect.ValueOf(n))
		}
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		for _, n := range []uint64{0, math.MaxUint32} {
			values = append(values, reflect.ValueOf(n))
		}
	case reflect.Float64:
		values = append(values, reflect.ValueOf(-1.0), reflect.ValueOf(2.0))
	case reflect.String:
		for _, s := range []string{"", "é\x00\r\n"} {
			values = append(values, reflect.ValueOf(s))
		}
	case reflect.Bool:
		values = append(values, reflect.ValueOf(!f.Bool()))
	case reflect.Slice:
		one := reflect.MakeSlice(f.Type(), 1, 1)
		values = append(values, reflect.Zero(f.Type()), one, reflect.AppendSlice(one, f.Value), reflect.AppendSlice(f.Value, f.Value))
		if f.Len() > 0 {
			values = append(values, f.Slice(0, f.Len()-1))
		}
	case reflect.Pointer:
		values = append(values, reflect.Zero(f.Type()), reflect.New(f.Type().Elem()))
	case reflect.Map:
	default:
		panic(f.path)
	}
	if k >= len(values) {
		return false
	}
	f.Set(values[k].Convert(f.Type()))
	return true
}

// planScript lets servers answer for a while.
func planScript() (script []byte) {
	for range 3 {
		script = append(script, opTime, 8, opGreet, 0, 0, 0, opGreet|1<<4, 0, 0, 0, opGreet|2<<4, 0, 0, 0)
	}
	for range 40 {
		script = append(script, opTime, 4, opAnswer, opAnswer|1<<4, opAnswer, opAnswer|1<<4)
	}
	return script
}
