package dial

import (
	"context"
	"syscall"

	"golang.org/x/sys/unix"
)

// lateBind lets the kernel choose the local port when it connects and not when it binds: a port
// is then taken for one destination only, so that each local address has some 28 000 ports for
// each of them (ip(7), IP_BIND_ADDRESS_NO_PORT).
func lateBind(_ context.Context, _, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) // an economy, not a need
	})
}
