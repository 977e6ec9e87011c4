package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/internal/cluster"
)

func (k *kube) newWatch() *cobra.Command {
	w := &where{}
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Show a test while it runs",
		Long: `Show the figures of a test, updated every second, until the test has ended. q or Ctrl-C
ends the view, and the test continues. If standard output is not a terminal, h2surge
prints a line per second.`,
		Example: `  kubectl h2surge watch pcf -n core
  kubectl h2surge watch pcf > pcf.log`,
		Args: command.ExactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := w.connect(k, cmd)
			if err != nil {
				return err
			}
			v := &watching{kube: k, cluster: c, out: cmd.OutOrStdout()}
			_, v.terminal = k.size(v.out)
			return v.run(cmd.Context(), args[0], cmd.InOrStdin())
		},
	}
	w.register(cmd)
	return cmd
}

// watching is a view of a test.
type watching struct {
	kube     *kube
	cluster  *cluster.Cluster
	out      io.Writer
	terminal bool
	// open: the other screen is shown.
	open    bool
	history cluster.History
	report  *rv.Report
	// probes is the number of probes of a search that were printed.
	probes int
	// last is what is on the screen.
	last []string
}

// Of ECMA-48 and xterm: another screen without a cursor, the way back, the first column of the first
// line, and erasing to the end of the line or of the screen.
const (
	openScreen  = "\x1b[?1049h\x1b[?25l"
	closeScreen = "\x1b[?25h\x1b[?1049l"
	goHome      = "\x1b[H"
	eraseLine   = "\x1b[K"
	eraseScreen = "\x1b[J"
)

func (v *watching) run(ctx context.Context, name string, in io.Reader) error {
	ticks, stop := v.kube.ticks(cluster.Interval)
	defer stop()
	keys, restore := (<-chan byte)(nil), func() {}
	if v.terminal {
		keys, restore = v.kube.keyboard(in, v.out)
	}
	wishes, release := v.kube.interrupts(false, func() { restore(); v.close() })
	defer release()
	err := v.cluster.Follow(ctx, name, nil, func(l cluster.Look) bool { return v.show(ctx, l) },
		func() bool { return nextLook(ctx, ticks, wishes, keys) })
	restore()
	v.close()
	if v.terminal && len(v.last) > 0 {
		fmt.Fprintln(v.out, strings.Join(v.last, "\n"))
	}
	return kubeError(err)
}

// nextLook waits until it is time to look again; false: the user has seen enough.
func nextLook(ctx context.Context, ticks <-chan time.Time, wishes <-chan os.Signal, keys <-chan byte) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-wishes:
			return false
		case key := <-keys:
			if key == terminal.KeyEnd {
				return false
			}
		case <-ticks:
			return true
		}
	}
}

func (v *watching) close() {
	if v.open {
		v.open = false
		fmt.Fprint(v.out, closeScreen)
	}
}

// show draws one look; false: there will be nothing new, or nothing reads it.
func (v *watching) show(ctx context.Context, l cluster.Look) bool {
	ended := cluster.Finished(l.Test)
	v.history.Add(l.Test)
	if l.Test.Status.Report != nil {
		v.report, _ = fetchReport(ctx, v.cluster, l.Test) // without it there are fewer figures
	}
	if !v.terminal {
		return printLook(v.out, l, &v.probes, v.kube.now()) == nil && !ended
	}
	size, ok := v.kube.size(v.out)
	if !ok {
		return false // it has gone
	}
	if !v.open {
		v.open = true
		fmt.Fprint(v.out, openScreen)
	}
	v.last = cluster.View(&cluster.Frame{Look: l, History: v.history, Report: v.report, Now: v.kube.now()}, size)
	fmt.Fprint(v.out, goHome+strings.Join(v.last, eraseLine+"\n")+eraseLine+eraseScreen)
	return !ended
}
