package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/version"
)

// versionInfo is the JSON form.
type versionInfo struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func newVersionCommand() *cobra.Command {
	output := command.OutputText
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  command.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.OneOf(output, command.DocumentFormats...); err != nil {
				return err
			}
			v := version.Get()
			if output == command.OutputText {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "h2surge "+v.String())
				return err
			}
			return command.WriteDocument(cmd.OutOrStdout(), output, versionInfo{Version: v.Version, Commit: v.Commit,
				GoVersion: v.Go,
				Platform:  runtime.GOOS + "/" + runtime.GOARCH})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "`format`: text, json or yaml")
	command.CompleteFlag(cmd, "output", command.DocumentFormats...)
	return cmd
}
