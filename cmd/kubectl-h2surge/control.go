package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cluster"
	"github.com/h2surge/h2surge/internal/lazy"
)

func (k *kube) newStop() *cobra.Command {
	return k.control((*cluster.Cluster).Stop, &cobra.Command{
		Use:   "stop NAME",
		Short: "Stop a test and keep its report",
		Long: `Stop a test. The runners stop sending and wait for the responses in flight. The report
has everything that was measured until the stop. A stopped test cannot be resumed: use
"suspend" to pause a test.`,
		Example: `  kubectl h2surge stop pcf -n core`,
	})
}

func (k *kube) newSuspend() *cobra.Command {
	return k.control((*cluster.Cluster).Suspend, &cobra.Command{
		Use:   "suspend NAME",
		Short: "Pause a test, or keep it from starting",
		Long: `Pause a running test. The runners send no requests and keep their connections open. The
pause extends the current stage. A test that has not started waits until you resume it.`,
		Example: `  kubectl h2surge suspend pcf -n core`,
	})
}

func (k *kube) newResume() *cobra.Command {
	return k.control((*cluster.Cluster).Resume, &cobra.Command{
		Use:     "resume NAME",
		Short:   "Continue a suspended test",
		Example: `  kubectl h2surge resume pcf -n core`,
	})
}

// control adds to a command what changes a test and prints the result.
func (k *kube) control(change func(*cluster.Cluster, context.Context, string) (string, error),
	cmd *cobra.Command) *cobra.Command {
	w := &where{}
	cmd.Args = command.ExactArgs("NAME")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := w.connect(k, cmd)
		if err != nil {
			return err
		}
		text, err := change(c, cmd.Context(), args[0])
		return say(cmd, text, err)
	}
	w.register(cmd)
	return cmd
}

func say(cmd *cobra.Command, text string, err error) error {
	if err != nil {
		return kubeError(err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

func (k *kube) newRate() *cobra.Command {
	w := &where{}
	cmd := &cobra.Command{
		Use:   "rate NAME [STAGE] RATE",
		Short: "Change the rate or the concurrency of a test while it runs",
		Long: `Change requestsPerSecond, chainsPerSecond, or concurrency of a stage. RATE has the unit
of the stage, over all shards: requests or chain instances per second, or requests in
flight. It can be relative to the current value, such as +10% or -10%. STAGE defaults to
the current stage. Before the start, it defaults to the only stage that is not a
warm-up. The command fails if another user changed the rate at the same time.`,
		Example: `  kubectl h2surge rate pcf 50000 -n core
  kubectl h2surge rate pcf hold +10%`,
		DisableFlagParsing: true, // -10% is not a flag
		RunE: func(cmd *cobra.Command, line []string) error {
			args, help, err := parseSigned(cmd, line)
			if err != nil {
				return err
			}
			if help {
				return cmd.Help()
			}
			names := []string{"NAME", "RATE"}
			if len(args) > 2 {
				names = []string{"NAME", "STAGE", "RATE"}
			}
			if err := command.ExactArgs(names...)(cmd, args); err != nil {
				return err
			}
			stage := ""
			if len(args) == 3 {
				stage = args[1]
			}
			change, err := cluster.ParseRate(args[len(args)-1])
			if err != nil {
				return command.Usagef("%v", err)
			}
			c, err := w.connect(k, cmd)
			if err != nil {
				return err
			}
			text, err := c.ChangeRate(cmd.Context(), args[0], stage, change, k.now())
			return say(cmd, text, err)
		},
	}
	w.register(cmd)
	return cmd
}

func (k *kube) newScale() *cobra.Command {
	w := &where{}
	cmd := &cobra.Command{
		Use:   "scale NAME SHARDS",
		Short: "Change the number of shards of a test",
		Long: `Change spec.runner.shards, the number of runner pods, from 1 to 256. The rate of the
whole test stays the same: the operator distributes it to the new number of shards. If
the test is running, a new shard gets its share of the load when it is ready. A shard
that is removed waits for its responses, and its counters are kept. "watch" and "status"
show the shards that join and leave.`,
		Example: `  kubectl h2surge scale pcf 4 -n core`,
		Args:    command.ExactArgs("NAME", "SHARDS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			shards, err := cluster.ParseShards(args[1])
			if err != nil {
				return command.Usagef("%v", err)
			}
			c, err := w.connect(k, cmd)
			if err != nil {
				return err
			}
			text, err := c.Scale(cmd.Context(), args[0], shards)
			return say(cmd, text, err)
		},
	}
	w.register(cmd)
	return cmd
}

var signedShare = lazy.Regexp(`^-[0-9.]+%$`)

// parseSigned parses the flags of a command of which -10% may be an argument.
func parseSigned(cmd *cobra.Command, line []string) (args []string, help bool, err error) {
	const mark = "="
	line = slices.Clone(line)
	for i := range line {
		if signedShare().MatchString(line[i]) {
			line[i] = mark + line[i]
		}
	}
	if err := cmd.Flags().Parse(line); err != nil {
		return nil, false, command.FlagError(cmd, err)
	}
	for _, arg := range cmd.Flags().Args() {
		args = append(args, strings.TrimPrefix(arg, mark))
	}
	help, err = cmd.Flags().GetBool("help")
	return args, help, err
}
