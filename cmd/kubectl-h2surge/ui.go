package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cluster"
	"github.com/h2surge/h2surge/internal/livepage"
)

func (k *kube) newUI() *cobra.Command {
	w := &where{}
	live := cli.LiveFlags{}
	cmd := &cobra.Command{
		Use:   "ui NAME",
		Short: "Show a test in a browser",
		Long: `Serve the HTML report of a test to browsers on this machine, until an interrupt
(Ctrl-C). While the test runs, the page has the figures of its status and is updated
every second. After the end it is the final report. h2surge reads the LoadTest and its
report with your own credentials. The page is read-only.`,
		Example: `  kubectl h2surge ui pcf -n core
  kubectl h2surge ui pcf --address 8089`,
		Args: command.ExactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := w.get(k, cmd, args[0])
			if err != nil {
				return err
			}
			server, err := live.Listen("address", cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer server.Close()
			u := &ui{kube: k, cluster: c, server: server, stderr: cmd.ErrOrStderr()}
			return u.run(cmd.Context(), args[0])
		},
	}
	live.RegisterAddress(cmd.Flags(), "address",
		"`address` of the page on this machine: PORT or HOST:PORT (default: any free port)")
	w.register(cmd)
	return cmd
}

// ui is a page of a test.
type ui struct {
	kube    *kube
	cluster *cluster.Cluster
	server  *livepage.Server
	stderr  io.Writer
	soFar   cluster.SoFar
	// final: the page is the final report, or there is none.
	final bool
}

// run shows a test until the user interrupts.
func (u *ui) run(ctx context.Context, name string) error {
	ticks, stop := u.kube.ticks(cluster.Interval)
	defer stop()
	wishes, release := u.kube.interrupts(false, func() {})
	defer release()
	err := u.cluster.Follow(ctx, name, nil, func(l cluster.Look) bool { return u.show(ctx, l) },
		func() bool { return nextLook(ctx, ticks, wishes, nil) })
	if err != nil || !u.final {
		return kubeError(err)
	}
	fmt.Fprintf(u.stderr, "the test has ended; its report stays at %s until you interrupt h2surge\n", u.server.URL())
	nextLook(ctx, nil, wishes, nil)
	return nil
}

// show sets what the page shows; false: there will be nothing new.
func (u *ui) show(ctx context.Context, l cluster.Look) bool {
	ended := cluster.Finished(l.Test)
	if ended && l.Test.Status.Report != nil {
		if r, err := fetchReport(ctx, u.cluster, l.Test); err == nil {
			u.server.Finish(r)
			u.final = true
			return false
		} else if l.Trouble == nil {
			l.Trouble = err
		}
	}
	now := u.kube.now()
	view := livepage.View{Report: u.soFar.Add(l.Test, now), Live: l.Live(now)}
	u.server.Show(func() (livepage.View, error) { return view, nil })
	u.final = ended && l.Test.Status.Report == nil
	return !u.final
}
