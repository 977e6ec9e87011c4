package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/cluster"
)

func (k *kube) newStop() *cobra.Command {
	return k.control((*cluster.Cluster).Stop, &cobra.Command{
		Use:   "stop NAME",
		Short: "Stop a test; what was measured is kept",
		Long: `Stop a test: nothing more is sent, the responses in flight are awaited, and the report is
that of a stopped run. It cannot be taken back; "suspend" can.`,
	})
}

func (k *kube) newSuspend() *cobra.Command {
	return k.control((*cluster.Cluster).Suspend, &cobra.Command{
		Use:   "suspend NAME",
		Short: "Pause a test, or keep it from starting",
		Long: `Pause a test that runs: nothing comes due, connections stay open, and the stage in force
lasts longer by the pause. A test that has not begun does not start before it is resumed.`,
	})
}

func (k *kube) newResume() *cobra.Command {
	return k.control((*cluster.Cluster).Resume, &cobra.Command{
		Use:   "resume NAME",
		Short: "Let a suspended test go on",
	})
}

// control makes of a command one that changes a test and tells what has become of it.
func (k *kube) control(change func(*cluster.Cluster, context.Context, string) (string, error), cmd *cobra.Command) *cobra.Command {
	w := &where{}
	cmd.Args = cobra.ExactArgs(1)
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
		Short: "Change the rate of a test while it runs",
		Long: `Change requestsPerSecond of a stage: RATE is requests a second over all shards, or a change
of the present rate such as +10% or -10%. Without STAGE it is the one in force; before the
start it is the one that is measured, if there is only one. A stage that went by stays as
it was. The change fails when somebody else has changed the rate in the meantime.`,
		DisableFlagParsing: true, // -10% is no flag
		RunE: func(cmd *cobra.Command, line []string) error {
			args, help, err := parseSigned(cmd, line)
			if err != nil {
				return err
			}
			if help {
				return cmd.Help()
			}
			if err := cobra.RangeArgs(2, 3)(cmd, args); err != nil {
				return err
			}
			stage := ""
			if len(args) == 3 {
				stage = args[1]
			}
			change, err := cluster.ParseRate(args[len(args)-1])
			if err != nil {
				return usagef("%v", err)
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
		Short: "Change the number of shards of a test, also while it runs",
		Long: `Change spec.runner.shards: SHARDS is how many runner pods there are to be, 1 to 256. The rate
stays that of the whole test, and is dealt anew to all. While a test runs, pods are added, which
get a part of the load once they are ready, or the last ones leave: they await their
responses, and what they counted is kept. "watch" and "status" show those that join and leave.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			shards, err := cluster.ParseShards(args[1])
			if err != nil {
				return usagef("%v", err)
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

var signedShare = regexp.MustCompile(`^-[0-9.]+%$`)

// parseSigned parses the flags of a command of which -10% may be an argument.
func parseSigned(cmd *cobra.Command, line []string) (args []string, help bool, err error) {
	const mark = "="
	line = slices.Clone(line)
	for i := range line {
		if signedShare.MatchString(line[i]) {
			line[i] = mark + line[i]
		}
	}
	if err := cmd.Flags().Parse(line); err != nil {
		return nil, false, err
	}
	for _, arg := range cmd.Flags().Args() {
		args = append(args, strings.TrimPrefix(arg, mark))
	}
	help, err = cmd.Flags().GetBool("help")
	return args, help, err
}
