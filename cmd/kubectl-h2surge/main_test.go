package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli"
	"github.com/h2surge/h2surge/internal/cli/clitest"
	"github.com/h2surge/h2surge/test/golden"
)

func newPlugin() *cobra.Command { return newRootCommand(&kube{}) }

func TestHelp(t *testing.T) {
	var elsewhere []string
	for _, c := range cli.WithoutCluster() {
		elsewhere = append(elsewhere, c.Name())
	}
	clitest.Help(t, "kubectl-h2surge", newPlugin, elsewhere...)
}

func TestCommandsOfTheDocs(t *testing.T) {
	clitest.Docs(t, newPlugin, func(words []string) ([]string, bool) {
		if len(words) < 2 || words[0] != "kubectl" || words[1] != "h2surge" {
			return nil, false
		}
		return words[2:], true
	}, 30)
}

// TestExamples: each command of the cluster has an example that works as it is printed.
func TestExamples(t *testing.T) {
	for _, c := range newRootCommand(&kube{}).Commands() {
		if c.GroupID == "cluster" && !strings.Contains(c.Example, "kubectl h2surge "+c.Name()) || c.CommandPath() != "kubectl h2surge "+c.Name() {
			t.Errorf("%s has the path %q and the examples %q", c.Name(), c.CommandPath(), c.Example)
		}
	}
}

// TestHelpHasExitCodes: the help has each exit code of package verdict.
func TestHelpHasExitCodes(t *testing.T) {
	for code := range 6 {
		if !strings.Contains(kubeExitCodes, fmt.Sprintf("\n  %d  ", code)) {
			t.Errorf("no code %d", code)
		}
	}
}

func TestCompletion(t *testing.T) {
	f := &fakeCluster{t: t}
	for args, want := range map[string][]string{"__complete ": {"run", "list", "status", "scale", "lint"}, "__complete li": {"list", "lint"}} {
		_, out, _ := f.kubectl("", strings.Split(args, " ")...)
		for _, name := range want {
			if !strings.Contains("\n"+out, "\n"+name+"\t") {
				t.Errorf("%q has no %s:\n%s", args, name, out)
			}
		}
	}
}

func TestCompletionOfOutput(t *testing.T) {
	clitest.Outputs(t, func() *cobra.Command { return newRootCommand(newKube()) })
}

// TestMistakes: a mistake ends the command before it connects. testdata/messages.txt has the messages.
func TestMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"loadtest.yaml": kubeManifest,
		"wrong.yaml":    strings.NewReplacer("path: /}", "path: '/${x}'}", "target: t,", "target: b,").Replace(kubeManifest),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for _, args := range [][]string{
		{"statsu"},
		{"status"},
		{"status", "a", "-o", "html"},
		{"rate", "a"},
		{"rate", "a", "b", "c", "d"},
		{"rate", "a", "fast"},
		{"rate", "a", "+x%"},
		{"scale", "a", "0"},
		{"run"},
		{"run", "loadtest.yaml", "--wait", "--follow"},
		{"run", "loadtest.yaml", "--timeout", "5s"},
		{"run", "loadtest.yaml", "--timeout", "5s", "--stop-on-interrupt"},
		{"run", "loadtest.yaml", "--timeout", "5"},
		{"run", "loadtest.yaml", "--name", "A"},
		{"run", "wrong.yaml"},
		{"list", "a"},
	} {
		f := &fakeCluster{t: t}
		code, out, errs := f.kubectl("", args...)
		if code != 1 || out != "" || errs == "" || f.client != nil {
			t.Errorf("%v: exit code %d, output %q, errors %q", args, code, out, errs)
		}
		fmt.Fprintf(&all, "$ kubectl h2surge %s\n%s\n", strings.Join(args, " "), errs)
	}
	golden.Compare(t, "messages.txt", all.String())
}
