package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const skips = `
# comment
m/a  TestA/x_*  the server has no x
m/*  TestB      needs a printer
`

func TestRun(t *testing.T) {
	const (
		passes = `{"Action":"pass","Package":"m/a","Test":"TestP"}` + "\n"
		ok     = `{"Action":"pass","Package":"m/a","Elapsed":1.5}` + "\n"
		okLine = "ok    m/a                                                                         1.5 s\n"
	)
	for _, tc := range []struct {
		name, in string
		ci       bool
		out, err string
	}{
		{name: "passes", in: passes + ok, ci: true, out: okLine + "1 passed, 0 failed, 0 skipped\n"},
		{name: "nothing ran", in: ok, out: okLine + "0 passed, 0 failed, 0 skipped\n", err: "no test passed"},
		{
			name: "a failed test is shown, others are not",
			in: `{"Action":"output","Package":"m/a","Test":"TestQ","Output":"quiet\n"}` + "\n" + `{"Action":"pass","Package":"m/a","Test":"TestQ"}` + "\n" +
				`{"Action":"output","Package":"m/a","Test":"TestF","Output":"    a_test.go:7: got 1, want 2\n"}` + "\n" + `{"Action":"fail","Package":"m/a","Test":"TestF"}` + "\n" +
				`{"Action":"fail","Package":"m/a","Elapsed":1.5}` + "\n",
			out: "    a_test.go:7: got 1, want 2\nFAIL" + okLine[4:] + "failed: TestF\n    a_test.go:7: got 1, want 2\n1 passed, 1 failed, 0 skipped\n", err: "1 tests failed",
		},
		{
			name: "a package that does not compile",
			in: `{"ImportPath":"m/a","Action":"build-output","Output":"undefined: x\n"}` + "\n" +
				`{"Action":"output","Package":"m/a","Output":"FAIL m/a [build failed]\n"}` + "\n" + `{"Action":"fail","Package":"m/a","Elapsed":1.5}` + "\n",
			out: "undefined: x\nFAIL m/a [build failed]\nFAIL" + okLine[4:] + "0 passed, 1 failed, 0 skipped\n", err: "1 tests failed",
		},
		{
			name: "figures", in: `{"Action":"output","Package":"m/a","Test":"TestP","Output":"FIGURE 7\n"}` + "\n" + passes + ok,
			out: "FIGURE 7\n" + okLine + "1 passed, 0 failed, 0 skipped\n",
		},
		{
			name: "a listed skip", ci: true, in: passes + `{"Action":"skip","Package":"m/a","Test":"TestA/x_1"}` + "\n" + ok,
			out: okLine + "skip  m/a TestA/x_1: the server has no x\n1 passed, 0 failed, 1 skipped\n",
		},
		{
			name: "an unlisted skip", in: passes + `{"Action":"skip","Package":"m/a","Test":"TestC"}` + "\n",
			out: "skip  m/a TestC: not in the list of tests that may be skipped\n1 passed, 0 failed, 1 skipped\n",
		},
		{
			name: "an unlisted skip in CI", ci: true, in: passes + `{"Action":"skip","Package":"m/a","Test":"TestC"}` + "\n",
			out: "skip  m/a TestC: not in the list of tests that may be skipped\n1 passed, 0 failed, 1 skipped\n",
			err: "1 tests were skipped that the list does not name; install what they need, or name each with its reason",
		},
		{name: "what is no event is shown", in: "go: downloading\n" + passes, out: "go: downloading\n1 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			allowed, err := parseSkips(skips)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			r := &run{out: &out, tests: map[test][]string{}}
			if err := r.read(strings.NewReader(tc.in)); err != nil {
				t.Fatal(err)
			}
			message := ""
			if err := r.judge(allowed, tc.ci); err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff([]string{tc.out, tc.err}, []string{out.String(), message}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseSkips(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"m/a TestA", "line 1: want a package, a test and the reason"},
		{"\nm/a Test[ why", "line 2: Test[: syntax error in pattern"},
	} {
		if _, err := parseSkips(tc.in); err == nil || err.Error() != tc.want {
			t.Errorf("%q: got %v, want %s", tc.in, err, tc.want)
		}
	}
}
