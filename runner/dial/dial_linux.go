package dial

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// take duplicates the connection's descriptor and closes the original. Go's own stays registered
// with its poller until it is closed; the duplicate is registered nowhere. The flag O_NONBLOCK is
// the open file's and so shared. A connection without a descriptor, which is one of a Network, stays as it is.
func (out *Connection) take(c net.Conn) error {
	sc, ok := c.(syscall.Conn)
	if !ok {
		out.Conn = c
		return nil
	}
	defer c.Close() //nolint:errcheck // the duplicate stays open
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
func (out *Connection) Close() {
	switch {
	case out.Streams != nil:
		out.Streams.Close()
	case out.Conn != nil:
		_ = out.Conn.Close()
	default:
		_ = unix.Close(out.FD)
	}
}
