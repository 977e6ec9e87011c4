package loop

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/runner/dial"
)

// direct is a socket address.
type direct struct {
	family int
	to     unix.Sockaddr
}

// directTo parses "ip:port" and "unix:/path". It returns nil for a host name.
func directTo(address string) *direct {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return &direct{unix.AF_UNIX, &unix.SockaddrUnix{Name: path}}
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil || ap.Addr().Zone() != "" {
		return nil
	}
	if a := ap.Addr().Unmap(); a.Is4() {
		return &direct{unix.AF_INET, &unix.SockaddrInet4{Port: int(ap.Port()), Addr: a.As4()}}
	}
	return &direct{unix.AF_INET6, &unix.SockaddrInet6{Port: int(ap.Port()), Addr: ap.Addr().As16()}}
}

// Connect implements Net. TCP may still be connecting when it returns: Send returns Again until it is connected, and Read
// returns Closed if it failed.
func (e *epollNet) Connect(address string, once bool) (*dial.Connection, bool, error) {
	d, known := e.direct[address]
	if !known {
		d = directTo(address)
		e.direct[address] = d
	}
	if d == nil {
		return nil, false, nil
	}
	fd, err := unix.Socket(d.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, true, fmt.Errorf("socket: %w", err)
	}
	if d.family != unix.AF_UNIX && !once {
		// Requests are written whole, so Nagle's algorithm could only delay them. It never delays the first one.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err := unix.Connect(fd, d.to); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return nil, true, fmt.Errorf("connect: %w", err)
	}
	return &dial.Connection{FD: fd}, true, nil
}
