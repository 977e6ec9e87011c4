package peer

import (
	"strconv"
	"syscall"
	"testing"
)

// Refused returns a port on which nothing listens, on each IPv4 address of this machine. Until the test ends, a socket
// that is bound keeps it from others.
func Refused(t testing.TB) (port string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(at.(*syscall.SockaddrInet4).Port)
}
