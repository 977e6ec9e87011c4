//go:build unix

package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// selfSeconds asks for the resources of the whole process, threads that have ended included
// (getrusage(2), RUSAGE_SELF). With valid arguments the call cannot fail.
func selfSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
