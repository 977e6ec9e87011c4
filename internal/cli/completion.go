package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// CompleteFlag makes shell completion offer values for a flag.
func CompleteFlag(cmd *cobra.Command, flag string, values ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the command has no such flag
	}
}

func starting(values []string, start string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, start) })
}
