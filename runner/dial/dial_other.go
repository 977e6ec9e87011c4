//go:build !linux

package dial

import (
	"errors"
	"net"
)

// take fails: the engine's sockets are Linux's so far.
func take(net.Conn) (int, error) {
	return -1, errors.New("load can be generated on Linux only")
}

// Close has nothing to close.
func (c *Connection) Close() {}
