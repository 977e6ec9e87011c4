package dial

import (
	"context"
	"net"
)

// Plain returns a dial function for an http.Transport. It connects to the address of the endpoint of r, whatever the
// URL of a request says. The policy decides about each address of a host, as for targets. Each address gets a share of
// r.Timeout. The deadline of a request cannot be divided, because http.Transport hides it. A Unix socket and a Network
// have no local address.
func Plain(r *Request) func(context.Context, string, string) (net.Conn, error) {
	network, address := split(r.Endpoint.Address)
	var d net.Dialer
	if from := r.from(); from != nil && network == "tcp" {
		d.LocalAddr, d.ControlContext = &net.TCPAddr{IP: from}, lateBind
	}
	dialContext := d.DialContext
	if r.Network != nil {
		dialContext = r.Network.DialContext
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, r.Timeout)
		defer cancel()
		if network == "unix" {
			return dialContext(ctx, network, address)
		}
		all, err := r.Resolver.addresses(ctx, address)
		if err != nil {
			return nil, err
		}
		if err := allowed(r.Policy, address, all); err != nil {
			return nil, err
		}
		var c net.Conn
		for k, a := range all {
			share, cancel := shareOf(ctx, len(all)-k)
			c, err = dialContext(share, network, a)
			if cancel(); err == nil || ctx.Err() != nil {
				break
			}
		}
		return c, err
	}
}
