//go:build !linux

package dial

import (
	"context"
	"net"
	"syscall"
)

// take keeps the connection as it is.
func (out *Connection) take(c net.Conn) error {
	out.Conn = c
	return nil
}

// Close closes a connection that no worker has taken.
func (out *Connection) Close() {
	if out.Streams != nil {
		out.Streams.Close()
		return
	}
	_ = out.Conn.Close()
}

func lateBind(context.Context, string, string, syscall.RawConn) error { return nil }
