//go:build unix

package command

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lost reports whether w is the file that Go's runtime opens in the place of a standard output that was closed:
// /dev/null, for reading and writing. A shell opens /dev/null for writing only.
func Lost(w io.Writer) bool {
	f, ok := File(w)
	if !ok {
		return false
	}
	is, err := f.Stat()
	null, missing := os.Stat(os.DevNull)
	if err != nil || missing != nil || !os.SameFile(is, null) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
