// Package dial opens connections: it resolves, connects, shakes hands, and hands over a socket
// that no longer belongs to Go's network poller, for an event loop to own.
package dial

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/failure"
)

// Connection is a connected socket.
type Connection struct {
	// FD is non-blocking; whoever gets the connection closes it. On systems other than Linux it
	// is -1 and Conn is the connection.
	FD   int
	Conn net.Conn
	// Secure is nil on a cleartext connection.
	Secure *Secure
	// Protocol is h2c, h2 or http1: what the target says, or what ALPN chose.
	Protocol rv.Protocol
	// Took is the time connecting took: name resolution, TCP and TLS.
	Took time.Duration
}

// Request says where and how to connect.
type Request struct {
	Endpoint *rv.Endpoint
	Protocol rv.Protocol
	Timeout  time.Duration
	// TLS is nil for cleartext.
	TLS *tls.Config
	// Number chooses among the addresses of a host name: the Number-th, modulo how many there
	// are, so that the connections of a test are spread over all pods of a headless Service.
	// The name is resolved anew each time.
	Number int
	// LocalAddresses are IP addresses to connect from, chosen by Number too. Empty: the
	// system's choice.
	LocalAddresses []string
}

// Open connects within the timeout.
func Open(ctx context.Context, r *Request) (*Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	begin := time.Now()
	// Keep-alive probes are not wanted: a timeout of our own watches each request.
	d := net.Dialer{KeepAlive: -1}
	network, address := split(r.Endpoint.Address)
	if network == "tcp" {
		var err error
		if address, err = choose(ctx, address, r.Number); err != nil {
			return nil, err
		}
		if n := len(r.LocalAddresses); n > 0 {
			d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(r.LocalAddresses[r.Number%n])}
			d.ControlContext = lateBind
		}
	}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	out := &Connection{Protocol: r.Protocol, FD: -1}
	if r.TLS != nil {
		if err := out.secure(ctx, c, r); err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	out.Took = time.Since(begin)
	return out, out.take(c)
}

// split takes an endpoint's address apart into what net.Dial wants.
func split(address string) (string, string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

func (out *Connection) secure(ctx context.Context, c net.Conn, r *Request) error {
	config := r.TLS
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = serverName(r.Endpoint.Authority)
	}
	out.Secure = NewSecure(c, config)
	if err := out.Secure.Handshake(ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	out.Secure.Detach()
	chosen := out.Secure.State().NegotiatedProtocol
	switch r.Protocol {
	case rv.ProtocolH2:
		if chosen != "h2" {
			return failure.New(rv.CauseALPN, fmt.Sprintf("%q, not h2 (RFC 9113 3.3)", chosen))
		}
	case rv.ProtocolALPN:
		out.Protocol = rv.ProtocolHTTP1
		if chosen == "h2" {
			out.Protocol = rv.ProtocolH2
		}
	}
	return nil
}
