package cli

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// isLost begins the message about a standard output for which lost returns true.
const isLost = "standard output: is closed, or is /dev/null opened for reading and writing"

// output is standard output. It keeps the first error, because help and completion do not look at the errors of their writes.
type output struct {
	io.Writer
	used   bool
	failed error
}

func (o *output) Write(p []byte) (int, error) {
	o.used = true
	n, err := o.Writer.Write(p)
	if o.failed == nil {
		o.failed = err
	}
	return n, err
}

// File returns the file that a writer of a command writes to; false: the writer is not a file, such as a test's buffer.
func File(w io.Writer) (*os.File, bool) {
	if o, is := w.(*output); is {
		w = o.Writer
	}
	f, is := w.(*os.File)
	return f, is
}

func isTerminal(w io.Writer) bool {
	f, ok := File(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printing are the commands that do nothing but print.
var printing = []string{"lint", "render", "explain", "schema", "convert", "version", "completion", "help", "report", "compare"}

// onlyPrints reports whether a command, or one that it belongs to, is in printing. A program without a command prints its help or its version.
func onlyPrints(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		if slices.Contains(printing, c.Name()) {
			return true
		}
	}
	return !cmd.HasParent()
}
