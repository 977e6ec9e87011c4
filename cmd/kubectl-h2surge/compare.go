package main

import (
	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/report/compare"
)

func (k *kube) newCompare() *cobra.Command {
	w := &where{}
	show := report.CompareFlags{}
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare the reports of two tests that have ended",
		Long:  "Compare the reports of two tests of a namespace that have ended: A is the baseline.\n\n" + report.CompareLong,
		Example: `  kubectl h2surge compare pcf-1 pcf-2 -n core
  kubectl h2surge compare pcf-1 pcf-2 --tolerance 5% --output-file compare.html`,
		Args: command.ExactArgs("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := show.Check(); err != nil {
				return err
			}
			var in [2]compare.Input
			for i, name := range args {
				c, lt, err := w.get(k, cmd, name)
				if err != nil {
					return err
				}
				r, err := fetchReport(cmd.Context(), c, lt)
				if err != nil {
					return kubeError(err)
				}
				in[i] = compare.Input{Source: name, Report: r}
			}
			return show.Show(cmd, in[0], in[1])
		},
	}
	show.Register(cmd)
	w.register(cmd)
	return cmd
}
