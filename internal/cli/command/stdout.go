package command

import (
	"io"
	"os"

	"golang.org/x/term"
)

// output is standard output. It keeps the first error, because help and completion do not look at the errors of their
// writes.
type output struct {
	io.Writer
	failed error
}

func (o *output) Write(p []byte) (int, error) {
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

// IsTerminal reports whether a writer of a command writes to a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := File(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// HasColours returns whether w is a terminal with colours whose user wants them (no-color.org).
func HasColours(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
