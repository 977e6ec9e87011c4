package cli

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
)

// completeNames offers names of the manifest that the command line has. A manifest with mistakes has none.
func (s *source) completeNames(names func(*job) []string, directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		directive := directive | cobra.ShellCompDirectiveNoFileComp
		manifest := *s
		manifest.overrides, manifest.reflection = nil, false // completion sends nothing
		// cobra parses flags twice
		manifest.files = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(s.files), args...))))
		if len(manifest.files) == 0 || slices.ContainsFunc(manifest.files, notStored) {
			return nil, directive
		}
		j, err := manifest.compile()
		if err != nil {
			return nil, directive
		}
		return command.WithPrefix(names(j), start), directive
	}
}

// notStored reports whether a name is not that of a file or a directory. To read standard input or a FIFO could block
// the shell.
func notStored(name string) bool {
	info, err := os.Stat(name)
	return err != nil || !info.Mode().IsRegular() && !info.IsDir()
}

// targetPrefixes are what --target-url can begin with.
func targetPrefixes(j *job) (out []string) {
	for i := range j.plan.Targets {
		out = append(out, j.plan.Targets[i].Name+"=")
	}
	return out
}

func loadChains(j *job) (out []string) {
	for i := range j.plan.Chains {
		if c := &j.plan.Chains[i]; c.Phase == rv.PhaseLoad {
			out = append(out, c.Name)
		}
	}
	return out
}
