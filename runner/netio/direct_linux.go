package netio

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/h2surge/h2surge/runner/dial"
	"github.com/h2surge/h2surge/runner/poll"
)

// direct is a socket address in the form of the kernel.
type direct struct {
	family int
	raw    unix.RawSockaddrAny
	size   uintptr
}

// directTo parses "ip:port" and "unix:/path". It returns nil for the addresses that only the dialer knows: a host name,
// a zone, an abstract Unix socket.
func directTo(address string) *direct {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return directToPath(path)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil || ap.Addr().Zone() != "" {
		return nil
	}
	d := new(direct)
	var port uint16
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&port))[:], ap.Port())
	if a := ap.Addr().Unmap(); a.Is4() {
		d.family, d.size = unix.AF_INET, unix.SizeofSockaddrInet4
		*(*unix.RawSockaddrInet4)(unsafe.Pointer(&d.raw)) = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port,
			Addr: a.As4()}
		return d
	}
	d.family, d.size = unix.AF_INET6, unix.SizeofSockaddrInet6
	*(*unix.RawSockaddrInet6)(unsafe.Pointer(&d.raw)) = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port,
		Addr: ap.Addr().As16()}
	return d
}

func directToPath(path string) *direct {
	d := &direct{family: unix.AF_UNIX, size: unix.SizeofSockaddrUnix}
	to := (*unix.RawSockaddrUnix)(unsafe.Pointer(&d.raw))
	if len(path) >= len(to.Path) || strings.HasPrefix(path, "@") {
		return nil
	}
	to.Family = unix.AF_UNIX
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&to.Path)), len(to.Path)), path)
	return d
}

// Connect implements Net. TCP may still be connecting when it returns: Send returns Again until it is connected, and
// Read returns Closed if it failed.
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
	if errno := poll.Connect(fd, unsafe.Pointer(&d.raw), d.size); errno != 0 && errno != unix.EINPROGRESS {
		poll.Close(fd)
		return nil, true, fmt.Errorf("connect: %w", errno)
	}
	e.connection = dial.Connection{FD: fd}
	return &e.connection, true, nil
}
