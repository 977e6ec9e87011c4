package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cluster"
)

const outputYAML = "yaml"

func (k *kube) newStatus() *cobra.Command {
	w := &where{}
	output := outputText
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Tell how a test is doing, and what to do next",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != outputText && output != outputJSON && output != outputYAML {
				return usagef("-o: %q is not possible; text, json and yaml are", output)
			}
			c, lt, err := w.get(k, cmd, args[0])
			if err != nil {
				return err
			}
			if output != outputText {
				return writeStatus(cmd.OutOrStdout(), output, lt)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(cluster.Status(lt, k.now(), w.again(cmd, c, lt.Name)), "\n"))
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "`format`: text, json or yaml")
	w.register(cmd)
	return cmd
}

// statusDocument is a LoadTest without what its author has written.
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

func writeStatus(w io.Writer, format string, lt *v1alpha1.LoadTest) error {
	b, err := json.MarshalIndent(statusDocument{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTest",
		Metadata: statusMetadata{lt.Name, lt.Namespace, lt.Generation}, Status: lt.Status,
	}, "", "  ")
	if err == nil && format == outputYAML {
		b, err = yaml.JSONToYAML(b)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, strings.TrimRight(string(b), "\n"))
	return err
}
