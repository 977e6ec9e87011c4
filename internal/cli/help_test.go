package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/clitest"
	"github.com/h2surge/h2surge/internal/cli/command"
)

func TestHelp(t *testing.T) {
	clitest.Help(t, "h2surge", func() *cobra.Command { return newRootCommand(parts()) })
}

// TestHelpHasExitCodes: the help has each exit code of package verdict.
func TestHelpHasExitCodes(t *testing.T) {
	for _, code := range []string{"  0  ", "  1  ", "  2  ", "  3  ", "  4  ", "  5  "} {
		if !strings.Contains(command.ExitCodes, "\n"+code) {
			t.Errorf("no code %s", code)
		}
	}
}

// TestCompletionOfAnUnknownShell: its output would be sourced.
func TestCompletionOfAnUnknownShell(t *testing.T) {
	got := h2surge(t, nil, nil, "completion", "tcsh")
	if want := "tcsh: unknown command (see h2surge completion --help)\n"; got.code != 1 || got.out != "" || got.errors != want {
		t.Errorf("exit code %d, output %q, errors %q; want %q", got.code, got.out, got.errors, want)
	}
}

// TestCompletion: shell completion offers the commands.
func TestCompletion(t *testing.T) {
	for args, want := range map[string][]string{
		"__complete ":   {"run", "lint", "try"},
		"__complete li": {"lint"},
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
