package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cluster"
)

func (k *kube) newStatus() *cobra.Command {
	w := &where{}
	output := command.OutputText
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show the state of a test, and what to do next",
		Example: `  kubectl h2surge status pcf -n core
  kubectl h2surge status pcf -o json`,
		Args: command.ExactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.OneOf(output, command.DocumentFormats...); err != nil {
				return err
			}
			c, lt, err := w.get(k, cmd, args[0])
			if err != nil {
				return err
			}
			if output != command.OutputText {
				return writeStatus(cmd.OutOrStdout(), output, lt)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(cluster.Status(lt, k.now(), w.again(cmd, c, lt.Name)), "\n"))
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "`format`: text, json or yaml")
	command.CompleteFlag(cmd, "output", command.DocumentFormats...)
	w.register(cmd)
	return cmd
}

// statusDocument is a LoadTest without its spec.
type statusDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   statusMetadata `json:"metadata"`
	// Status is that of the API.
	Status v1alpha1.LoadTestStatus `json:"status"`
}

type statusMetadata struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Generation int64  `json:"generation"`
}

func statusOf(lt *v1alpha1.LoadTest) statusDocument {
	return statusDocument{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTest",
		Metadata: statusMetadata{lt.Name, lt.Namespace, lt.Generation}, Status: lt.Status,
	}
}

func writeStatus(w io.Writer, format string, lt *v1alpha1.LoadTest) error {
	return command.WriteDocument(w, format, statusOf(lt))
}
