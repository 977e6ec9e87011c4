//go:build !race

package chain

import (
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/message"
)

// everything is a plan whose first step has each kind of placeholder and of function.
func everything() *rv.Plan {
	p := lifeCycle()
	p.Globals = []string{"g"}
	p.Targets[0].Auth = &rv.Auth{Bearer: &rv.BearerAuth{TokenFile: "/t"}}
	p.Targets[0].ClientAssertion = &rv.ClientAssertion{}
	p.Variables = append(p.Variables,
		rv.Variable{Name: "t", CSV: &rv.CSV{Content: rv.Content{Text: "a,b\n1,2\n3,\"x y\"\n"}}, Order: rv.OrderShuffled},
		rv.Variable{Name: "r", Random: &rv.Random{Integer: &rv.RandomInteger{Max: 1e6}}, Scope: rv.ScopeStep},
		rv.Variable{Name: "h", Random: &rv.Random{Hex: 20}},
		rv.Variable{Name: "c", Random: &rv.Random{Choice: []rv.Choice{{Value: "x", Weight: 1}, {Value: "y", Weight: 2}}}},
		rv.Variable{Name: "u", UUID: true},
		rv.Variable{Name: "n", Counter: &rv.Counter{Step: 1, Width: 9}, Scope: rv.ScopeWorker},
		rv.Variable{Name: "ts", Timestamp: &rv.Timestamp{Format: rv.TimeIMFFixdate}},
		rv.Variable{Name: "a", List: []string{"1", "2"}, Order: rv.OrderRandom},
		rv.Variable{Name: "traceparent(0.5)", Traceparent: &rv.Traceparent{Ratio: 0.5}, Scope: rv.ScopeStep},
		rv.Variable{Name: "ue", Subscribers: derivedKeys(), Order: rv.OrderShuffled},
		rv.Variable{Name: "rand", Random: &rv.Random{Hex: 32}, Scope: rv.ScopeStep},
		rv.Variable{Name: "sent", Timestamp: &rv.Timestamp{Format: rv.TimeIMFFixdateMilli}, Scope: rv.ScopeStep},
		rv.Variable{Name: "binding", List: []string{"scope=callback; nfset=x, bl=nf-set; nfset=a; recoverytime=1", ""}},
	)
	s := &p.Chains[0].Steps[0]
	s.Body = rv.Text{{Variable: 3, Column: "b"}, {Variable: 4}, {Variable: 5}, {Variable: 6}, {Variable: 7}, {Variable: 8}, {Variable: 9}, {Variable: 10}, {Variable: 11}, {Global: 1}, {Capture: 1}}
	for _, column := range derivedKeys().Columns() {
		s.Body = append(s.Body, rv.Part{Variable: 12, Column: string(column)})
	}
	own := rv.Function{Name: rv.FunctionRESStar, Arguments: []rv.Part{{Variable: 12, Column: "k"}, {Variable: 12, Column: "opc"}, {Variable: 12, Column: "servingNetwork"}}}
	s.Body = append(s.Body, rv.Part{Variable: 13, Functions: []rv.Function{own, {Name: rv.FunctionHXRESStar, Arguments: []rv.Part{{Variable: 13}}}}})
	for _, f := range []rv.Function{
		{Name: rv.FunctionURLEncode}, {Name: rv.FunctionBase64}, {Name: rv.FunctionBase64URL}, {Name: rv.FunctionJSONEscape}, {Name: rv.FunctionUpper},
		{Name: rv.FunctionLower}, {Name: rv.FunctionHexDecode}, {Name: rv.FunctionPad, Width: 200, Fill: "0"}, {Name: rv.FunctionSHA256}, {Name: rv.FunctionHMACSHA256, Key: &rv.Part{Variable: 7}},
	} {
		s.Body = append(s.Body, rv.Part{Variable: 9, Functions: []rv.Function{f}})
	}
	s.Headers = append(s.Headers, rv.Header{Name: rv.Text{{Literal: "X-"}, {Variable: 2}}, Value: rv.Text{{Variable: 9}}},
		rv.Header{Name: lit("3gpp-sbi-max-rsp-time"), Value: lit("1500"), OmitEmpty: true},
		rv.Header{Name: lit("3gpp-sbi-sender-timestamp"), Value: rv.Text{{Variable: 14}}, OmitEmpty: true},
		rv.Header{Name: lit("3gpp-sbi-routing-binding"), Value: rv.Text{{Variable: 15, Functions: []rv.Function{{Name: rv.FunctionRoutingBinding}}}}, OmitEmpty: true},
	)
	s.Expect.Checks = []rv.Check{
		checkOf("etag", rv.Source{Kind: rv.SourceHeader, Name: "etag", Regex: "v-[0-9]+"}, rv.Match{Op: rv.MatchEquals, Want: rv.Text{{Literal: "v-17"}}}),
		checkOf("p", rv.Source{Kind: rv.SourceJSONPointer, Pointer: "/a"}, rv.Match{Op: rv.MatchEquals, Want: lit("b")}),
	}
	p.Chains[0].Steps[1].When = []rv.Condition{{Value: rv.Text{{Capture: 1}}, Match: rv.Match{Op: rv.MatchStartsWith, Want: lit("/")}}}
	p.Chains[0].Steps[1].Think = &rv.Think{Mean: 5, Max: 50}
	return p
}

// derivedKeys are ten million subscribers with keys of their own.
func derivedKeys() *rv.Subscribers {
	s := testNetwork(1e7)
	s.AKA = &rv.AKA{K: *text1(testK), Derived: true, OP: text1(testOP)}
	return s
}

// TestSubscribersNeedNoMemory: the memory of subscribers does not depend on how many they are.
func TestSubscribersNeedNoMemory(t *testing.T) {
	measure := func(count int64) testing.BenchmarkResult {
		s := derivedKeys()
		s.Count = count
		p := drawPlan(rv.Text{{Variable: 1, Column: "supi"}}, rv.Variable{Name: "ue", Subscribers: s, Order: rv.OrderShuffled})
		return testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				g, err := Load(p, Resources{})
				if err != nil {
					b.Fatal(err)
				}
				bodies(g, sources(g), 0, 1)
			}
		})
	}
	few, many := measure(1), measure(1e7)
	if few, many := few.AllocedBytesPerOp(), many.AllocedBytesPerOp(); many > few+64 {
		t.Errorf("ten million subscribers need %d bytes, one needs %d", many, few)
	}
}

// TestPartsAllocateNothing: a body with parts is one text.
func TestPartsAllocateNothing(t *testing.T) {
	p := everything()
	s := &p.Chains[0].Steps[0]
	s.Headers, s.Parts, s.Body = nil, []rv.BodyPart{{ContentType: "application/json", Body: s.Body}, {ContentType: "a/b", ContentID: "n1", Body: lit("x")}}, nil
	g := program(t, p)
	enc, src := NewEncoder(g, 0, &g.Targets[0].Endpoints[0]), sources(g)
	src.SetGlobals([]string{"global"})
	var in Instance
	buf, body, state := make([]byte, 0, 4096), make([]byte, 0, 8192), TableState(0)
	round := func() {
		in.Start(g, 0, src, 1e18)
		in.BeginStep(&g.Steps[0], 1e18)
		body = g.Steps[0].AppendBody(body[:0], &in)
		buf, state = enc.AppendHeaders(buf[:0], &g.Steps[0], &in, len(body), state, nil)
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

// TestUSIMAllocatesNothing: 512 subscribers share an allocation for their sequence numbers.
func TestUSIMAllocatesNothing(t *testing.T) {
	fresh, stale := home(t).Vector(), home(t)
	g := program(t, usimPlan(usimSubscribers(1e6, rv.OrderShuffled), rv.Answers()...))
	src, s := sources(g), &g.Steps[0]
	for _, x := range []*message.Exchange{challengeOf(fresh), challengeOf(stale.VectorOf(fresh.RAND))} {
		var in Instance
		round := func() {
			in.Start(g, 0, src, 1e18)
			if failed := s.Judge(&in, x); failed != "" || s.TakeCaptures(&in, x, nil) {
				t.Fatal("the challenge fails: ", failed)
			}
		}
		round()
		if n := testing.AllocsPerRun(1000, round); n != 0 {
			t.Errorf("%v allocations a challenge", n)
		}
	}
}

func TestEverythingAllocatesNothing(t *testing.T) {
	g := program(t, everything())
	e := &g.Targets[0].Endpoints[0]
	enc, head := NewEncoder(g, 0, e), NewHead(g, 0, e, true)
	src := sources(g)
	src.SetCredential(g.Authorization(0), []byte("Bearer token"))
	src.SetCredential(g.Assertion(0), []byte("a.b.c"))
	src.SetGlobals([]string{"global"})
	x := exchange(201, `{"a":"b"}`)
	x.Request = &message.Message{}
	cookie := []byte("a=b")
	var in Instance
	buf, body, kept, state := make([]byte, 0, 4096), make([]byte, 0, 4096), make([]byte, 0, 8192), TableState(0)
	wall := int64(1e18)
	s := &g.Steps[0]
	round := func() {
		wall += 1e9
		in.Start(g, 0, src, wall)
		in.BeginStep(s, wall)
		body = s.AppendBody(body[:0], &in)
		buf, state = enc.AppendHeaders(buf[:0], s, &in, len(body), state, cookie)
		buf = head.AppendHead(buf[:0], s, &in, len(body), cookie)
		kept = s.RenderMessage(x.Request, kept[:0], &in, e, body, cookie)
		buf = enc.AppendMessage(buf[:0], x.Request, len(body))
		buf = head.AppendMessage(buf[:0], x.Request, len(body))
		if failed := s.Judge(&in, x); failed != "" || s.TakeCaptures(&in, x, nil) {
			t.Fatal("the exchange fails: ", failed)
		}
		if !in.Holds(g.Steps[1].When) || g.Steps[1].Think.Draw(src) > 50 {
			t.Fatal("the next step is not to be sent")
		}
	}
	round()
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}
