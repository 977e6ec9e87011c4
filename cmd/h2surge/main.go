// Command h2surge is the command line: it runs load tests on this machine, serves a target for
// them, and shows reports. Installed as kubectl-h2surge it is a plugin of kubectl.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/version"
	"github.com/h2surge/h2surge/runner"
	"github.com/h2surge/h2surge/runner/cpu"
	"github.com/h2surge/h2surge/runner/loop"
)

func main() {
	os.Exit(execute(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr, parts()))
}

// parts are the real parts; tests use others.
func parts() linked {
	return linked{
		newEngine: func(plan *rv.Plan, workers int, cpus []int) (engine, error) {
			return runner.New(plan, runner.Options{Workers: workers, CPUs: cpus, Alone: true})
		},
		newTrial: func(plan *rv.Plan, trial *loop.Trial) (engine, error) {
			return runner.New(plan, runner.Options{Workers: 1, NoPin: true, Alone: true, Trial: trial})
		},
		interrupts: interrupts,
		keyboard:   keyboard,
		allowed:    cpu.Allowed,
	}
}

// execute runs a command line, the program's name first, and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errs io.Writer, l linked) int {
	root := newRootCommand(args[0], l)
	root.SetArgs(args[1:])
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	cmd, err := root.ExecuteContextC(ctx)
	return report(err, cmd, errs)
}

func newRootCommand(program string, l linked) *cobra.Command {
	root := &cobra.Command{
		Use:   "h2surge",
		Short: "Load-test HTTP services",
		Long: `h2surge load-tests HTTP services. The load is described by a manifest, the same that the
operator runs in a cluster, or by a URL and the flags of h2load.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version.Get().String(),
	}
	root.SetVersionTemplate("h2surge {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", usageWidth)))
	if strings.HasPrefix(filepath.Base(program), "kubectl-h2surge") {
		addPlugin(root, newKube(l))
		return root
	}
	root.AddCommand(newRunCommand(l), newTryCommand(l), newLintCommand(), newRenderCommand(), newExplainCommand(), newSchemaCommand(), newTargetCommand(), newConvertCommand(), newReportCommand(), newKubeCommand(newKube(l)), newVersionCommand(), newDemoTargetCommand())
	return root
}
