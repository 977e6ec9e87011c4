package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/clitest"
	"github.com/h2surge/h2surge/internal/cli/command"
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

func TestCommandsOfTheDocs(t *testing.T) {
	root := func() *cobra.Command { return newRootCommand(linked{}) }
	clitest.Docs(t, root, func(words []string) ([]string, bool) {
		return words[1:], words[0] == "h2surge" || words[0] == "bin/h2surge"
	}, 50)
}

// TestFlagsOfOtherToolsInDocs: the page has each flag of URLFlagHints, in a row with the flag that the message says to use.
func TestFlagsOfOtherToolsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/words-of-other-tools.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, hint := range command.URLFlagHints {
		typed := "`--" + name + "`"
		if len(name) == 1 {
			typed = "`-" + name + "`"
		}
		use := "`" + regexp.MustCompile(`use (-\S+( [A-Z]+)?)`).FindStringSubmatch(hint)[1]
		found := false
		for line := range strings.Lines(string(page)) {
			found = found || strings.Contains(line, typed) && strings.Contains(line, use)
		}
		if !found {
			t.Errorf("docs/explanation/words-of-other-tools.md has no row for %s with %s`", typed, use)
		}
	}
}
