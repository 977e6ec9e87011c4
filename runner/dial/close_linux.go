package dial

import "golang.org/x/sys/unix"

// Close closes a socket that Open has returned.
func Close(fd int) { _ = unix.Close(fd) }
