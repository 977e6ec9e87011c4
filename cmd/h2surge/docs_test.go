package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/test/markdown"
)

// pagesOfDocs are all pages of the project.
func pagesOfDocs(t *testing.T) []*markdown.Page {
	t.Helper()
	pages, err := markdown.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestCommandsOfTheDocs parses each command of ours that a page prints, in a block or within a sentence: the command, its flags and the
// number of its arguments exist.
func TestCommandsOfTheDocs(t *testing.T) {
	n := 0
	check := func(page string, line int, text string, prose bool) {
		for _, words := range markdown.Programs(text) {
			program, args := ourProgram(words)
			if program == "" {
				continue
			}
			n++
			if err := parseCommand(program, args, prose); err != nil {
				t.Errorf("%s:%d: %s: %v", page, line, strings.Join(words, " "), err)
			}
		}
	}
	for _, p := range pagesOfDocs(t) {
		for _, b := range p.Blocks {
			for _, c := range b.Commands() {
				check(p.File, c.Line, c.Text, false)
			}
		}
		for _, c := range p.Code {
			check(p.File, c.Line, c.Text, true)
		}
	}
	if n < 50 {
		t.Errorf("the pages have %d commands only", n)
	}
}

// ourProgram returns the name under which a command line starts this program, and its arguments. The name is empty for another
// program's command line.
func ourProgram(words []string) (program string, args []string) {
	switch {
	case words[0] == "h2surge" || words[0] == "bin/h2surge":
		return "h2surge", words[1:]
	case len(words) > 1 && words[0] == "kubectl" && words[1] == "h2surge":
		return "kubectl-h2surge", words[2:]
	}
	return "", nil
}

// parseCommand does what cobra does before it runs a command. A sentence may name a command without its arguments, or with words in
// capitals in place of values.
func parseCommand(program string, args []string, prose bool) error {
	root := newRootCommand(program, linked{})
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		if _, value, found := strings.Cut(err.Error(), `invalid argument "`); found && prose && placeholder(value[:strings.Index(value, `"`)]) {
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
