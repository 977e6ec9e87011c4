//go:build !linux

package dial

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// take fails: the engine's sockets are Linux's so far.
func take(net.Conn) (int, error) {
	return -1, errors.New("load can be generated on Linux only")
}

// Close has nothing to close.
func (c *Connection) Close() {}

func lateBind(context.Context, string, string, syscall.RawConn) error { return nil }
