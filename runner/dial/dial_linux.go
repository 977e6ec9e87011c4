package dial

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// take duplicates the connection's descriptor. Go's own stays registered with its poller until it
// is closed; the duplicate is registered nowhere. The flag O_NONBLOCK is the open file's and so
// shared.
func take(c net.Conn) (int, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("%T has no descriptor", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	if cerr := raw.Control(func(own uintptr) {
		fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	}); cerr != nil {
		err = cerr
	}
	if err != nil {
		return -1, fmt.Errorf("duplicate the socket: %w", err)
	}
	return fd, nil
}

// Close closes a connection that nobody took over.
func (c *Connection) Close() { _ = unix.Close(c.FD) }
