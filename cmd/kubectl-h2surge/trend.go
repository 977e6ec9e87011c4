package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cluster"
)

func (k *kube) newTrend() *cobra.Command {
	w := &where{}
	output := command.OutputText
	cmd := &cobra.Command{
		Use:   "trend SCHEDULE",
		Short: "Show the runs of a schedule, one line each",
		Long: `Show the LoadTests of a LoadTestSchedule that the cluster keeps, the oldest first: the
start, the rate, the response times, the errors and the verdict. historyLimits of the
schedule controls how many of each outcome are kept.`,
		Example: `  kubectl h2surge trend nightly -n core
  kubectl h2surge trend nightly -o json`,
		Args: command.ExactArgs("SCHEDULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.OneOf(output, command.DocumentFormats...); err != nil {
				return err
			}
			c, err := w.connect(k, cmd)
			if err != nil {
				return err
			}
			tests, err := c.Runs(cmd.Context(), args[0])
			if err != nil {
				return kubeError(err)
			}
			if output != command.OutputText {
				return command.WriteDocument(cmd.OutOrStdout(), output, listDocument(tests))
			}
			if len(tests) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "schedule %s has no LoadTests\n", args[0])
				return nil
			}
			for _, line := range cluster.Trend(tests) {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "`format`: text, json or yaml")
	command.CompleteFlag(cmd, "output", command.DocumentFormats...)
	w.register(cmd)
	return cmd
}
