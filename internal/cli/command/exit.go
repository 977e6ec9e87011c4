package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/mask"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// ExitCodes is for the help of commands; the codes are those of package verdict.
const ExitCodes = `Exit codes:
  0  passed: all thresholds passed; without a threshold on errors, at most 1% of the
     requests failed; at least one chain was completed
  1  bad manifest or command line; h2surge sent nothing
  2  failed: a threshold or the default limit on errors was exceeded, no chain was
     completed, or teardown failed
  3  inconclusive: the generator was the bottleneck (without thresholds and a search,
     the code is 0), something could not be compared, observed or authorized, or a
     search had no result; the verdict says which
  4  interrupted; the report has everything that was sent until the interrupt
  5  the test could not run: the target cannot be reached, no request got a response, or
     the counters do not add up`

// exitError ends the process with a code. Its lines go to standard error.
type exitError struct {
	code  int
	lines []string
}

func (e *exitError) Error() string { return strings.Join(e.lines, "\n") }

// Exit ends the process with a code, after lines on standard error.
func Exit(code int, lines ...string) error { return &exitError{code: code, lines: lines} }

// Usagef reports a mistake in the manifest or the command line.
func Usagef(format string, args ...any) error {
	return &exitError{code: verdict.ExitUsage, lines: []string{fmt.Sprintf(format, args...)}}
}

// Failf reports a failure without a verdict.
func Failf(format string, args ...any) error {
	return &exitError{code: verdict.ExitError, lines: []string{fmt.Sprintf(format, args...)}}
}

// Failed returns an error of Exit, Usagef or Failf as it is, and another one as a failure without a verdict.
func Failed(err error) error {
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit
	}
	return Failf("%v", err)
}

// All returns one failure with the lines of all errors; nil: there are none. It is for outputs of which one must not
// keep the result from the next.
func All(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return Exit(verdict.ExitError, strings.Split(err.Error(), "\n")...)
}

// reportError writes an error to standard error, one line each, and returns the exit code. An error of another type
// than exitError is one of standard output, or comes from cobra and is about the command line.
func reportError(err error, cmd *cobra.Command, w io.Writer) int {
	if err == nil {
		return verdict.ExitPassed
	}
	exit, file := new(exitError), new(fs.PathError)
	if !errors.As(err, &exit) {
		if errors.As(err, &file) && file.Op == "write" {
			fmt.Fprintln(w, "standard output: "+mask.Line(err.Error()))
			return verdict.ExitError
		}
		fmt.Fprintln(w, argumentProblem(mask.Line(err.Error()))+SeeHelp(cmd))
		return verdict.ExitUsage
	}
	for _, line := range exit.lines {
		fmt.Fprintln(w, mask.Line(line))
	}
	return exit.code
}
