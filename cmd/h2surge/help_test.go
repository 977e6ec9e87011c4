package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"help.txt":         {"h2surge", "--help"},
		"help-run.txt":     {"h2surge", "run", "--help"},
		"help-report.txt":  {"h2surge", "report", "--help"},
		"help-lint.txt":    {"h2surge", "lint", "--help"},
		"help-render.txt":  {"h2surge", "render", "--help"},
		"help-explain.txt": {"h2surge", "explain", "--help"},
		"help-schema.txt":  {"h2surge", "schema", "--help"},
		"help-kubectl.txt": {"/usr/local/bin/kubectl-h2surge", "run", "--help"},
	} {
		var out strings.Builder
		if code := execute(t.Context(), args, strings.NewReader(""), &out, os.Stderr, linked{}); code != 0 {
			t.Errorf("%v: exit code %d", args, code)
		}
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s differs; run the test with -update if that is meant (-want +got):\n%s", golden, diff)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > usageWidth+1 {
				t.Errorf("%s: a line of %d columns: %s", name, len(line)-1, line)
			}
		}
	}
}

// Every exit code that the verdict package has is in the help.
func TestHelpTellsExitCodes(t *testing.T) {
	for _, code := range []string{"  0  ", "  1  ", "  2  ", "  3  ", "  4  ", "  5  "} {
		if !strings.Contains(exitCodes, "\n"+code) || !strings.Contains(kubeExitCodes, "\n"+code) {
			t.Errorf("no code %s", code)
		}
	}
}
