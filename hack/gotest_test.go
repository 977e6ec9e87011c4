package hack

import (
	"os/exec"
	"strings"
	"testing"
)

// TestGotest: the last lines and the exit code of gotest.sh.
func TestGotest(t *testing.T) {
	event := func(action, test, more string) string {
		if test != "" {
			test = `,"Test":"` + test + `"`
		}
		return `{"Action":"` + action + `","Package":"github.com/h2surge/h2surge/test/conformance"` + test + more + "}\n"
	}
	const listed, allowed = "TestRealServers/h2o/no_tables", "skip: github.com/h2surge/h2surge/test/conformance TestRealServers/h2o/*no_tables*"
	passes, ok := event("pass", "TestP", ""), event("pass", "", `,"Elapsed":1.5`)
	for _, tc := range []struct {
		name, in, ci string
		fails        bool
		want         []string // these lines begin so
	}{
		{"passes", passes + ok, "true", false, []string{"1 passed, 0 failed, 0 skipped"}},
		{"nothing ran", ok, "", true, []string{"0 passed, 0 failed, 0 skipped", "gotest.sh: no test passed"}},
		{
			"a failed test", passes + event("output", "TestF", `,"Output":"    a_test.go:7: got 1, want 2\n"`) + event("fail", "TestF", "") + event("fail", "", ""), "", true,
			[]string{"    a_test.go:7: got 1, want 2", "failed: github.com/h2surge/h2surge/test/conformance TestF\n  a_test.go:7: got 1, want 2\n1 passed, 1 failed, 0 skipped"},
		},
		{
			"a data race", event("output", "TestP", `,"Output":"WARNING: DATA RACE\n"`) + event("output", "TestP", `,"Output":"  a.go:7\n"`) +
				event("output", "TestP", `,"Output":"==================\n"`) + event("output", "TestP", `,"Output":"later\n"`) + passes + event("fail", "TestF", ""), "", true,
			[]string{"WARNING: DATA RACE\n  a.go:7\n==================\nfailed: github.com/h2surge/h2surge/test/conformance TestF\n1 passed"},
		},
		{
			"a package that does not compile", passes + `{"ImportPath":"m/a","Action":"build-output","Output":"a.go:1:1: undefined: x\n"}` + "\n" + event("fail", "", `,"FailedBuild":"m/a"`), "", true,
			[]string{"a.go:1:1: undefined: x", "1 passed, 1 failed, 0 skipped"},
		},
		{"figures", event("output", "TestP", `,"Output":"FIGURE 7\n"`) + passes + ok, "", false, []string{"FIGURE 7", "1 passed"}},
		{"a listed skip", passes + event("skip", listed, "") + ok, "true", false, []string{allowed, "1 passed, 0 failed, 1 skipped"}},
		{"a skip", passes + event("skip", "TestC", "") + ok, "", false, []string{"skip: github.com/h2surge/h2surge/test/conformance TestC: not in hack/skips.txt"}},
		{"a skip in CI", passes + event("skip", "TestC", "") + ok, "true", true, []string{"1 passed, 0 failed, 1 skipped", "gotest.sh: 1 tests were skipped"}},
		{"other lines", "go: downloading\n" + passes + ok, "", false, []string{"1 passed, 0 failed, 0 skipped"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "./gotest.sh")
			cmd.Stdin = strings.NewReader(tc.in)
			cmd.Env = append(cmd.Environ(), "CI="+tc.ci)
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails {
				t.Errorf("ended with %v", err)
			}
			for _, line := range tc.want {
				if !strings.Contains("\n"+string(out), "\n"+line) {
					t.Errorf("no line %q", line)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
