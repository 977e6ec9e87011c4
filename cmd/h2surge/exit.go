package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/internal/verdict"
)

// exitCodes is for the help of commands; the codes are those of package verdict.
const exitCodes = `Exit codes:
  0  passed: every threshold holds; without one on errorRatio, at most 1 % of the
     requests failed, and a chain was completed
  1  bad manifest or command line; nothing was sent
  2  failed: a threshold or the default limit on errors was exceeded, no chain was
     completed, or teardown failed
  3  inconclusive: the generator, not the target, was the bottleneck
  4  interrupted; the report covers what was sent until then
  5  could not run: the target cannot be reached, not one request succeeded, or the
     counters do not add up`

// exitError ends the process with a code, after its lines were written to standard error.
type exitError struct {
	code  int
	lines []string
}

func (e *exitError) Error() string { return strings.Join(e.lines, "\n") }

// usagef is a mistake in what the user wrote.
func usagef(format string, args ...any) error {
	return &exitError{code: verdict.ExitUsage, lines: []string{fmt.Sprintf(format, args...)}}
}

// failf is a failure that no verdict covers.
func failf(format string, args ...any) error {
	return &exitError{code: verdict.ExitError, lines: []string{fmt.Sprintf(format, args...)}}
}

// tell writes what an error has to say, one line each, and returns the exit code. An error of
// another type is about the command line as well: it comes from cobra or a simple command.
func tell(err error, cmd *cobra.Command, w io.Writer) int {
	if err == nil {
		return verdict.ExitPassed
	}
	exit := new(exitError)
	if !errors.As(err, &exit) {
		fmt.Fprintf(w, "%s (see %s --help)\n", oneLine(err.Error()), cmd.CommandPath())
		return verdict.ExitUsage
	}
	for _, line := range exit.lines {
		fmt.Fprintln(w, oneLine(line))
	}
	return exit.code
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
