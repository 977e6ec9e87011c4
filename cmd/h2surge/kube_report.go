package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cluster"
)

func (k *kube) newReport() *cobra.Command {
	w := &where{}
	output, to, asRun := outputText, "", false
	cmd := &cobra.Command{
		Use:   "report NAME",
		Short: "Show or save the report of a test that has ended",
		Long:  "Show or save the report that the operator keeps of a test that has ended.",
		Example: `  kubectl h2surge report pcf -n core
  kubectl h2surge report pcf -o json
  kubectl h2surge report pcf --output-file report.html`,
		Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			c, lt, err := w.get(k, cmd, args[0])
			if err != nil {
				return err
			}
			r, err := fetchReport(cmd.Context(), c, lt)
			if err != nil {
				return kubeError(err)
			}
			if to == "" {
				err = writeReport(cmd.OutOrStdout(), output, r)
			} else {
				err = saveReport(to, output, cmd.Flags().Changed("output"), r)
			}
			if err != nil || !asRun {
				return err
			}
			return asVerdict(r)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, outputUsage)
	cmd.Flags().StringVar(&to, "output-file", "", outputFileUsage)
	cmd.Flags().BoolVar(&asRun, "exit-code", false, exitCodeUsage)
	w.register(cmd)
	return cmd
}

func fetchReport(ctx context.Context, c *cluster.Cluster, lt *v1alpha1.LoadTest) (*rv.Report, error) {
	b, err := c.Report(ctx, lt)
	if err != nil {
		return nil, err
	}
	r, err := readReport(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the report of %s: %w", lt.Name, err)
	}
	return r, nil
}

// saveReport writes a report as its name says, or else in the format that was asked for.
func saveReport(name, format string, asked bool, r *rv.Report) error {
	file, err := openReportFile(name)
	if err != nil {
		return usagef("--output-file: %v", err)
	}
	defer file.discard()
	if !asked {
		format = file.format()
	}
	if err := file.save(func(w io.Writer) error { return writeReport(w, format, r) }); err != nil {
		return failf("%v", err)
	}
	return nil
}
