// Package command is what the commands of h2surge and of its kubectl plugin share: errors and exit codes, arguments,
// flags and their completion, and documents on standard output.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/internal/version"
)

// exitBrokenPipe is what a shell reports of a program that SIGPIPE has ended.
const exitBrokenPipe = 128 + int(syscall.SIGPIPE)

// Execute runs a command line without the program's name and returns the exit code. A command whose result could not be
// written fails, without a message if the reader has ended, such as head.
func Execute(ctx context.Context, root *cobra.Command, args []string, in io.Reader, out, errs io.Writer) int {
	// A write to a broken pipe fails and does not end the process, so that files with Secrets are removed, and what failed
	// beside it is shown.
	brokenPipes := make(chan os.Signal, 1)
	signal.Notify(brokenPipes, syscall.SIGPIPE)
	defer signal.Stop(brokenPipes)
	root.SetArgs(args)
	root.SetIn(in)
	stdout := &output{Writer: out}
	root.SetOut(stdout)
	root.SetErr(errs)
	cmd, err := root.ExecuteContextC(ctx)
	if errors.Is(stdout.failed, syscall.EPIPE) {
		if exit := (*exitError)(nil); errors.As(err, &exit) && exit.code == verdict.ExitError { // of a file, say
			reportError(err, cmd, errs)
		}
		return exitBrokenPipe
	}
	if err == nil && stdout.failed != nil {
		err = Failf("standard output: %v", stdout.failed)
	}
	return reportError(err, cmd, errs)
}

// NewRootCommand returns a program without commands: its errors, its help and its version are those of both programs.
func NewRootCommand(short, long string) *cobra.Command {
	root := &cobra.Command{Use: "h2surge", Short: short, Long: long, SilenceErrors: true, SilenceUsage: true,
		Version: version.Get().String()}
	root.SetVersionTemplate("h2surge {{.Version}}\n")
	root.SetFlagErrorFunc(FlagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ",
		UsageWidth)))
	return root
}

// UsageWidth is where help is wrapped, in columns.
const UsageWidth = 88
