//go:build unix

package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// selfSeconds returns the CPU time, user and system, that the process has used, including its ended threads
// (getrusage(2), RUSAGE_SELF). With valid arguments the call cannot fail.
func selfSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
