package dial

import (
	"context"
	"net"
	"net/netip"
)

// Network is a network in the place of the system's. A simulation has one in memory.
type Network interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Listen(network, address string) (net.Listener, error)
	// LookupNetIP resolves a host name, as a net.Resolver.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Listen listens on a network; nil: the system's.
func Listen(n Network, address string) (net.Listener, error) {
	if n == nil {
		return net.Listen("tcp", address)
	}
	return n.Listen("tcp", address)
}
