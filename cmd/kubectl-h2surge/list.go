package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cluster"
)

func (k *kube) newList() *cobra.Command {
	w := &where{}
	output, all := command.OutputText, false
	selector := ""
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the tests of a namespace",
		Long: `List the tests of a namespace, the newest first: the phase, the ready shards, the rate,
the response times, the errors, the verdict and the age.`,
		Example: `  kubectl h2surge list -n core
  kubectl h2surge list -A
  kubectl h2surge list -l app=pcf -o json`,
		Args: command.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.OneOf(output, command.DocumentFormats...); err != nil {
				return err
			}
			c, err := w.connect(k, cmd)
			if err != nil {
				return err
			}
			tests, err := c.List(cmd.Context(), all, selector)
			if err != nil {
				return kubeError(err)
			}
			if output == command.OutputText {
				for _, line := range cluster.Table(tests, all, k.now()) {
					fmt.Fprintln(cmd.OutOrStdout(), line)
				}
				if len(tests) == 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), c.None(all))
				}
				return nil
			}
			return command.WriteDocument(cmd.OutOrStdout(), output, listDocument(tests))
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the tests of all namespaces")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "`labels` that the tests must have, such as app=pcf")
	cmd.Flags().StringVarP(&output, "output", "o", output, "`format`: text, json or yaml")
	command.CompleteFlag(cmd, "output", command.DocumentFormats...)
	w.register(cmd)
	return cmd
}

// statusList has the status of each test, as "status -o json" prints it.
type statusList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Items      []statusDocument `json:"items"`
}

func listDocument(tests []v1alpha1.LoadTest) statusList {
	out := statusList{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadTestList", Items: []statusDocument{}}
	for i := range tests {
		out.Items = append(out.Items, statusOf(&tests[i]))
	}
	return out
}
