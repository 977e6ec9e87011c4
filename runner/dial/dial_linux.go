package dial

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// take duplicates the connection's descriptor and closes the original. Go's own stays registered
// with its poller until it is closed; the duplicate is registered nowhere. The flag O_NONBLOCK is
// the open file's and so shared.
func (out *Connection) take(c net.Conn) error {
	defer c.Close() //nolint:errcheck // the duplicate stays open
	sc, ok := c.(syscall.Conn)
	if !ok {
		return fmt.Errorf("%T has no descriptor", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(own uintptr) {
		out.FD, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	}); cerr != nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("duplicate the socket: %w", err)
	}
	return nil
}

// Close closes a connection that no worker has taken.
func (out *Connection) Close() { _ = unix.Close(out.FD) }
