package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the golden files")

// TestHelp compares the help of each command with testdata/help, which has one file for each command.
func TestHelp(t *testing.T) {
	files := map[string]bool{}
	for _, program := range []string{"h2surge", "kubectl-h2surge"} {
		for _, path := range commandPaths(newRootCommand(program, parts())) {
			name := strings.Join(append([]string{program}, path...), "-") + ".txt"
			if program == "kubectl-h2surge" {
				if same := slices.Contains([]string{"lint", "render", "explain", "schema", "convert", "version"}, path0(path)); same && len(path) > 0 {
					continue // It is the command of h2surge under another name.
				}
			}
			files[name] = true
			var out, errs strings.Builder
			args := append(append([]string{program}, path...), "--help")
			if code := execute(t.Context(), args, strings.NewReader(""), &out, &errs, linked{}); code != 0 || errs.String() != "" {
				t.Errorf("%v: exit code %d, %s", args, code, errs.String())
			}
			golden(t, "help/"+name, out.String())
			for line := range strings.Lines(out.String()) {
				if len(line) > usageWidth+1 {
					t.Errorf("%s: a line of %d columns: %s", name, len(line)-1, line)
				}
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(testdata, "help"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !files[e.Name()] {
			t.Errorf("testdata/help/%s belongs to a command that does not exist", e.Name())
		}
	}
}

func path0(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[0]
}

// commandPaths are the commands that users see, each with the names above it.
func commandPaths(root *cobra.Command) [][]string {
	paths := [][]string{nil}
	for _, c := range root.Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		for _, below := range commandPaths(c) {
			paths = append(paths, append([]string{c.Name()}, below...))
		}
	}
	return paths
}

// Each command that changes or reads a test in the cluster has an example that works as it is printed: flags come after the command.
func TestExamplesOfTheCluster(t *testing.T) {
	root := newRootCommand("kubectl-h2surge", parts())
	for _, c := range root.Commands() {
		if c.GroupID == "cluster" && !strings.Contains(c.Example, "kubectl h2surge "+c.Name()) {
			t.Errorf("%s has no example: %q", c.Name(), c.Example)
		}
	}
}

// Every exit code that the verdict package has is in the help.
func TestHelpHasExitCodes(t *testing.T) {
	for _, code := range []string{"  0  ", "  1  ", "  2  ", "  3  ", "  4  ", "  5  "} {
		if !strings.Contains(exitCodes, "\n"+code) || !strings.Contains(kubeExitCodes, "\n"+code) {
			t.Errorf("no code %s", code)
		}
	}
}

// Shell completion offers the commands.
func TestCompletion(t *testing.T) {
	for args, want := range map[string][]string{
		"__complete ":        {"run", "lint", "render", "kube"},
		"__complete kube ":   {"run", "list", "status", "scale"},
		"__complete kube li": {"list"},
	} {
		var out, errs strings.Builder
		execute(t.Context(), append([]string{"h2surge"}, strings.Split(args, " ")...), strings.NewReader(""), &out, &errs, linked{})
		for _, name := range want {
			if !strings.Contains("\n"+out.String(), "\n"+name+"\t") {
				t.Errorf("%q has no %s:\n%s", args, name, out.String())
			}
		}
	}
}
