package cli

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/clitest"
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
