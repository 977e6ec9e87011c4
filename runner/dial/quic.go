package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// Streams is a connection of QUIC, whose octets are records of package h3.
type Streams interface {
	// Notify sets what is called, by any goroutine, when Ready may return more than before.
	Notify(notify func())
	// Ready returns whether Read has something to return, and whether Send takes all records.
	Ready() (readable, writable bool)
	// Read returns 0 and no error if there is nothing now. An error is the end.
	Read(b []byte) (int, error)
	// Send returns 0 and no error if it does not take the first record now.
	Send(b []byte) (int, error)
	// Octets returns how many octets were sent and received since the last call.
	Octets() (sent, received int64)
	// Close waits for the goroutine of the connection, and not for the peer.
	Close()
}

// QUIC opens a connection from a local address to another one; nil: from the system's choice.
type QUIC func(ctx context.Context, from net.Addr, to string, secure *tls.Config) (Streams, error)

// openQUIC connects to an address by QUIC. The handshake is that of TLS, too.
func openQUIC(ctx context.Context, r *Request, begin time.Time, network, address string) (*Connection, error) {
	if network == "unix" || r.QUIC == nil || r.TLS == nil {
		return nil, errors.New("protocol h3 needs UDP and TLS")
	}
	r.report(Handshaking)
	var from net.Addr
	if ip := r.from(); ip != nil {
		from = &net.UDPAddr{IP: ip}
	}
	dialed := time.Now()
	c, err := r.QUIC(ctx, from, address, named(r.TLS, r.Endpoint.Authority))
	if err != nil {
		return nil, r.timedOut(fmt.Errorf("QUIC: %w", err), address)
	}
	return &Connection{
		FD: -1, Streams: c, Protocol: rv.ProtocolH3, Address: address, Took: time.Since(begin),
		Phases: Phases{TLSHandshake: time.Since(dialed)},
	}, nil
}

// named returns a configuration with the name of a server, which is that of the authority unless it has one.
func named(c *tls.Config, authority string) *tls.Config {
	if c.ServerName == "" {
		c = c.Clone()
		c.ServerName = serverName(authority)
	}
	return c
}
