package chain

import (
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// RAND of test set 1 of TS 35.207, and RES* and HXRES* for it; see runner/fiveg.
const (
	testRAND    = "23553cbe9637a89d218ae64dae47bf35"
	testRESStar = "f236a7417272bfb2d66d4d670733b527"
	testHXRES   = "20a71900b01776bfd773e8c15a825446"
)

// challenged renders a body in a chain that captured RAND. Its variable 1 are subscribers with the keys of test set 1.
func challenged(t *testing.T, rand, k string, body rv.Text, from *rv.BodyFrom) string {
	t.Helper()
	s := testNetwork(10)
	s.AKA = &rv.AKA{K: *text1(testK), OP: text1(testOP)}
	p := drawPlan(body, rv.Variable{Name: "ue", Subscribers: s}, rv.Variable{Name: "k", List: []string{k}})
	p.Chains[0].Captures, p.Chains[0].Steps[0].BodyFrom = []string{"rand"}, from
	g := program(t, p)
	var instance Instance
	instance.Start(g, 0, sources(g), 0)
	instance.Capture(0, []byte(rand))
	return string(g.Steps[0].AppendBody(nil, &instance))
}

func resStar(k rv.Part) rv.Function {
	return rv.Function{Name: rv.FunctionRESStar, Arguments: []rv.Part{k, {Variable: 1, Column: "opc"}, {Variable: 1, Column: "servingNetwork"}}}
}

func TestAuthenticationFunctions(t *testing.T) {
	own := resStar(rv.Part{Variable: 1, Column: "k"})
	hxres := rv.Function{Name: rv.FunctionHXRESStar, Arguments: []rv.Part{{Capture: 1}}}
	upper := rv.Function{Name: rv.FunctionUpper}
	for _, tt := range []struct {
		name, rand, k, want string
		functions           []rv.Function
	}{
		{"RES*", testRAND, testK, testRESStar, []rv.Function{own}},
		{"upper-case RAND", strings.ToUpper(testRAND), testK, testRESStar, []rv.Function{own}},
		{"a key of a list", testRAND, strings.ToUpper(testK), testRESStar, []rv.Function{resStar(rv.Part{Variable: 2})}},
		{"HXRES*", testRAND, testK, testHXRES, []rv.Function{own, hxres}},
		{"HXRES* of upper-case digits", testRAND, testK, testHXRES, []rv.Function{own, upper, hxres}},
		{"no RAND", "", testK, "", []rv.Function{own}},
		{"a short RAND", testRAND[2:], testK, "", []rv.Function{own}},
		{"a RAND with another character", "x" + testRAND[1:], testK, "", []rv.Function{own}},
		{"a short key", testRAND, "a0", "", []rv.Function{resStar(rv.Part{Variable: 2})}},
		{"HXRES* of no RES*", testRAND, "a0", "", []rv.Function{resStar(rv.Part{Variable: 2}), hxres}},
	} {
		if got := challenged(t, tt.rand, tt.k, rv.Text{{Capture: 1, Functions: tt.functions}}, nil); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestConstantArguments: a function whose values are all constant is computed when the plan is loaded.
func TestConstantArguments(t *testing.T) {
	constant := func(s string) rv.Variable { return rv.Variable{Name: "v", Constant: text1(s)} }
	f := rv.Function{Name: rv.FunctionRESStar, Arguments: []rv.Part{{Variable: 2}, {Variable: 3}, {Variable: 4}}}
	const network = "5G:mnc001.mcc001.3gppnetwork.org"
	g := program(t, drawPlan(rv.Text{{Variable: 1, Functions: []rv.Function{f}}}, constant(testRAND), constant(testK), constant(testOPc), constant(network)))
	if got, ok := g.Steps[0].ConstantBody(); string(got) != testRESStar || !ok {
		t.Errorf("%q, constant %v, want %q", got, ok, testRESStar)
	}
}

// TestFunctionsInFiles: functions have their arguments in a content with placeholders, too.
func TestFunctionsInFiles(t *testing.T) {
	for text, want := range map[string]string{
		"${resStar(rand, ue.k, ue.opc, ue.servingNetwork)}":               testRESStar,
		"${hxresStar(resStar(rand, k, ue.opc, ue.servingNetwork), rand)}": testHXRES,
	} {
		if got := challenged(t, testRAND, testK, nil, &rv.BodyFrom{Content: *text1(text)}); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for _, tt := range []struct {
		f    rv.Function
		want string
	}{
		{rv.Function{Name: rv.FunctionRESStar}, "body: resStar needs 3 arguments"},
		{rv.Function{Name: rv.FunctionHXRESStar, Arguments: []rv.Part{{}, {}}}, "body: hxresStar needs 1 arguments"},
		{rv.Function{Name: rv.FunctionHXRESStar, Arguments: []rv.Part{{Variable: 9}}}, "body: there is no variable 9"},
		{rv.Function{Name: rv.FunctionHXRESStar, Arguments: []rv.Part{{Variable: 1, Functions: []rv.Function{{Name: rv.FunctionUpper}}}}}, "body: an argument of hxresStar must be a reference without functions"},
	} {
		_, err := Load(drawPlan(rv.Text{{Variable: 1, Functions: []rv.Function{tt.f}}}, rv.Variable{Name: "v", List: []string{"a"}}), Resources{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
