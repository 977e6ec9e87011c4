//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/test/markdown"
)

// TestGettingStarted runs the commands of README.md and docs/tutorials/on-a-cluster.md in their order, in one shell, as a reader does, and
// compares what they print with what the page prints. It comes after TestInstall: the cluster has no h2surge, and the page ends without
// one.
func TestGettingStarted(t *testing.T) {
	if os.Getenv("E2E_CLUSTER") != "own" {
		t.Skip("SKIPPED: the page brings up the cluster of hack/cluster; this run has another")
	}
	const root = "../.."
	t.Cleanup(func() { // of a page that stopped halfway; nothing is left of one that did not
		for _, args := range []string{"delete loadtest quickstart", "delete -k ../../config/target", "delete -k ../../config/default"} {
			_ = exec.Command("kubectl", append(strings.Fields(args), "--ignore-not-found", "--timeout=60s")...).Run()
		}
	})
	sh := markdown.NewShell(t, root)
	runPage(t, sh, "README.md", 2)
	runPage(t, sh, "docs/tutorials/on-a-cluster.md", 20)
}

// runPage runs a page, which must have so many commands at least.
func runPage(t *testing.T, sh *markdown.Shell, file string, atLeast int) {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := markdown.Parse(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := sh.Page(page); n < atLeast {
		t.Errorf("%s has %d commands that run, want at least %d", file, n, atLeast)
	}
}
