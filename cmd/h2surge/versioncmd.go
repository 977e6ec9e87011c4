package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

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
	output := outputText
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Tell which h2surge this is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			v := version.Get()
			if output == outputText {
				fmt.Fprintln(cmd.OutOrStdout(), "h2surge "+v.String())
				return nil
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			return e.Encode(versionInfo{Version: v.Version, Commit: v.Commit, GoVersion: v.Go, Platform: runtime.GOOS + "/" + runtime.GOARCH})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "`format`: text or json")
	return cmd
}
