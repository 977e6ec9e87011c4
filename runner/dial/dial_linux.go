package dial

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Open connects to "host:port" or "unix:/path" and returns a non-blocking socket, which the
// caller closes, and the time connecting took, name resolution included.
func Open(ctx context.Context, address string, timeout time.Duration) (fd int, took time.Duration, err error) {
	c, took, err := connect(ctx, address, timeout)
	if err != nil {
		return -1, took, err
	}
	defer c.Close() //nolint:errcheck // the duplicate goes on
	sc, ok := c.(syscall.Conn)
	if !ok {
		return -1, took, fmt.Errorf("%T has no descriptor", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, took, err
	}
	// Go's own descriptor stays registered with its poller; the duplicate is registered nowhere.
	// The flag O_NONBLOCK is the open file's and so shared.
	cerr := raw.Control(func(own uintptr) {
		fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	if cerr != nil {
		err = cerr
	}
	if err != nil {
		return -1, took, fmt.Errorf("duplicate the socket: %w", err)
	}
	return fd, took, nil
}
