package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/cluster"
)

func (k *kube) newReport() *cobra.Command {
	w := &where{}
	show := report.Flags{}
	cmd := &cobra.Command{
		Use:   "report NAME",
		Short: "Show or save the report of a test that has ended",
		Long:  "Show or save the report that the operator keeps of a test that has ended.",
		Example: `  kubectl h2surge report pcf -n core
  kubectl h2surge report pcf -o json
  kubectl h2surge report pcf --output-file report.html`,
		Args: command.ExactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := show.Check(); err != nil {
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
			return show.Show(cmd, r)
		},
	}
	show.Register(cmd)
	w.register(cmd)
	return cmd
}

func fetchReport(ctx context.Context, c *cluster.Cluster, lt *v1alpha1.LoadTest) (*rv.Report, error) {
	b, err := c.Report(ctx, lt)
	if err != nil {
		return nil, err
	}
	return readReport(lt.Name, b)
}

func readReport(test string, b []byte) (*rv.Report, error) {
	r, err := report.Read(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the report of %s: %w", test, err)
	}
	return r, nil
}
