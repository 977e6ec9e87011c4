// Package dial opens connections: it resolves, connects and hands over a socket that no longer
// belongs to Go's network poller, for an event loop to own.
package dial

import (
	"context"
	"net"
	"strings"
	"time"
)

// network splits an endpoint's address into what net.Dial wants.
func network(address string) (string, string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

// connect dials within the timeout and says how long it took.
func connect(ctx context.Context, address string, timeout time.Duration) (net.Conn, time.Duration, error) {
	// Keep-alive probes are not wanted: a timeout of our own watches each request.
	d := net.Dialer{Timeout: timeout, KeepAliveConfig: net.KeepAliveConfig{Enable: false}, KeepAlive: -1}
	n, a := network(address)
	begin := time.Now()
	c, err := d.DialContext(ctx, n, a)
	return c, time.Since(begin), err
}
