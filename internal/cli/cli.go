// Package cli has the commands of h2surge, and what the plugin of kubectl shares with them: reading and checking
// manifests, reports, errors and exit codes. The plugin's own commands are in cmd/kubectl-h2surge, so that h2surge
// starts without a client of the API server.
package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/convert"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/cli/schema"
	"github.com/h2surge/h2surge/internal/cli/target"
	"github.com/h2surge/h2surge/internal/cli/terminal"
	"github.com/h2surge/h2surge/runner"
	"github.com/h2surge/h2surge/runner/cpu"
	"github.com/h2surge/h2surge/runner/trial"
)

// Main runs the program h2surge and returns its exit code.
func Main() int {
	return command.Execute(context.Background(), newRootCommand(parts()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// parts are the real parts; tests use others.
func parts() linked {
	return linked{
		newEngine: func(plan *rv.Plan, cpus []int, listen string) (engine, error) {
			return runner.New(plan, runner.Options{Workers: len(cpus), CPUs: cpus, Alone: true, ListenAddress: listen})
		},
		newTrial: func(plan *rv.Plan, trial *trial.Config, listen string) (engine, error) {
			return runner.New(plan, runner.Options{Workers: 1, NoPin: true, Alone: true, Trial: trial, ListenAddress: listen})
		},
		interrupts: terminal.Interrupts,
		keyboard:   terminal.Keyboard,
		allowed:    cpu.Allowed,
	}
}

func newRootCommand(l linked) *cobra.Command {
	root := command.NewRootCommand("Load-test HTTP services", `h2surge load-tests HTTP services. The load is described by a manifest, the same that the
operator runs in a cluster, or by a URL and the flags of h2load.`)
	root.AddCommand(newRunCommand(l), newSearchCommand(l), newTryCommand(l), target.NewCommand(), report.NewCommand(),
		report.NewCompareCommand(), newDemoTargetCommand())
	root.AddCommand(WithoutCluster()...)
	root.InitDefaultCompletionCmd("completion")
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			command.Group(cmd)
		}
	}
	return root
}

// WithoutCluster returns the commands of h2surge that the plugin of kubectl has, too. They need no cluster.
func WithoutCluster() []*cobra.Command {
	return []*cobra.Command{newLintCommand(), schema.NewExplainCommand(), schema.NewCommand(), convert.NewCommand(),
		newVersionCommand()}
}
