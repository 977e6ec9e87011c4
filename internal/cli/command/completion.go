package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// CompleteFlag makes shell completion offer values for a flag.
func CompleteFlag(cmd *cobra.Command, flag string, values ...string) {
	CompleteFlagFunc(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteFlagFunc makes shell completion call a function for the values of a flag.
func CompleteFlagFunc(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the command has no such flag
	}
}

// WithPrefix returns the values that begin with a text.
func WithPrefix(values []string, start string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, start) })
}
