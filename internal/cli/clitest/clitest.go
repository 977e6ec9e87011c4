// Package clitest tests the commands of h2surge and of its kubectl plugin: their help, and the command lines in the
// docs.
package clitest

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/test/golden"
	"github.com/h2surge/h2surge/test/markdown"
)

// width is the number of columns of help.
const width = 88

// Help compares the help of each command with testdata/help, which has one file for each command. It leaves out the
// commands that another program has, too.
func Help(t *testing.T, program string, root func() *cobra.Command, elsewhere ...string) {
	files := map[string]bool{}
	for _, path := range commandPaths(root()) {
		if len(path) > 0 && slices.Contains(elsewhere, path[0]) {
			continue
		}
		name := strings.Join(append([]string{program}, path...), "-") + ".txt"
		files[name] = true
		var out strings.Builder
		cmd := root()
		cmd.SetArgs(append([]string{"help"}, path...))
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		if err := cmd.Execute(); err != nil {
			t.Errorf("help %v: %v", path, err)
		}
		golden.Compare(t, "help/"+name, out.String())
		for line := range strings.Lines(out.String()) {
			if len(line) > width+1 && !strings.Contains(line, "$schema=https://") { // users copy this line
				t.Errorf("%s: a line of %d columns: %s", name, len(line)-1, line)
			}
		}
	}
	entries, err := os.ReadDir("testdata/help")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !files[e.Name()] {
			t.Errorf("testdata/help/%s belongs to a command that does not exist", e.Name())
		}
	}
}

// Outputs holds the completion of -o of each command against its help: both have the same formats.
func Outputs(t *testing.T, root func() *cobra.Command) {
	commands := 0
	for _, path := range commandPaths(root()) {
		cmd, _, err := root().Find(path)
		if err != nil {
			t.Fatal(err)
		}
		flag := cmd.Flags().ShorthandLookup("o")
		if flag == nil {
			continue
		}
		commands++
		var out strings.Builder
		cmd = root()
		cmd.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, path...), "-o", ""))
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		if err := cmd.Execute(); err != nil {
			t.Errorf("completion of %v: %v", path, err)
		}
		_, formats, _ := strings.Cut(flag.Usage, ": ")
		want := strings.Fields(notFormat.ReplaceAllString(formats, " "))
		got := strings.Fields(strings.TrimSuffix(out.String(), ":4\n"))
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v -o: completion differs from help (-help +completion):\n%s", path, diff)
		}
	}
	if commands < 3 {
		t.Errorf("only %d commands have -o", commands)
	}
}

// notFormat matches what stands between the formats in the help of -o: "text, json, github (annotations of GitHub
// Actions) or sarif".
var notFormat = regexp.MustCompile(`\([^)]*\)|\bor\b|,`)

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

// Docs parses each command line of the docs that starts the program, in a block or within a sentence: the command, its
// flags and the number of its arguments exist. Arguments returns those of a line that starts the program. The docs must
// have at least as many lines as least.
func Docs(t *testing.T, root func() *cobra.Command, arguments func(words []string) (args []string, ours bool),
	least int) {
	pages, err := markdown.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	check := func(page string, line int, text string, prose bool) {
		for _, words := range markdown.Programs(text) {
			args, ours := arguments(words)
			if !ours {
				continue
			}
			n++
			if err := parse(root(), args, prose); err != nil {
				t.Errorf("%s:%d: %s: %v", page, line, strings.Join(words, " "), err)
			}
		}
	}
	for _, p := range pages {
		for _, b := range p.Blocks {
			for _, c := range b.Commands() {
				check(p.File, c.Line, c.Text, false)
			}
		}
		for _, c := range p.Code {
			check(p.File, c.Line, c.Text, true)
		}
	}
	if n < least {
		t.Errorf("the docs have only %d command lines", n)
	}
}

// parse does what cobra does before it runs a command. A sentence may name a command without its arguments, or with
// words in capitals in place of values.
func parse(root *cobra.Command, args []string, prose bool) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		if _, value, found := strings.Cut(err.Error(), `invalid argument "`); found && prose &&
			placeholder(value[:strings.Index(value, `"`)]) {
			return nil
		}
		if prose && strings.HasPrefix(err.Error(), "flag needs an argument") {
			return nil
		}
		return err
	}
	arguments := cmd.Flags().Args()
	if slices.Contains(arguments, "...") {
		return nil
	}
	if cmd.HasSubCommands() && len(arguments) > 0 {
		return cobra.NoArgs(cmd, arguments)
	}
	if prose {
		return nil
	}
	return cmd.ValidateArgs(arguments)
}

// placeholder reports whether a word stands for a value: FILE, TIME.
func placeholder(w string) bool { return strings.ToUpper(w) == w }
