package dial

import (
	"context"
	"net"

	"github.com/h2surge/h2surge/internal/policy"
)

// Plain returns a dial function for an http.Transport. It connects to an address, in the form of Endpoint.Address,
// whatever the URL of a request says. The policy decides about each address of a host, as for targets. from is the
// local address; nil: the system's choice. A Unix socket and a Network have none.
func Plain(r *Resolver, n Network, p *policy.Policy, from net.IP, to string) func(context.Context, string, string) (
	net.Conn, error) {
	network, address := split(to)
	var d net.Dialer
	if from != nil && network == "tcp" {
		d.LocalAddr, d.ControlContext = &net.TCPAddr{IP: from}, lateBind
	}
	dialContext := d.DialContext
	if n != nil {
		dialContext = n.DialContext
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		if network == "unix" {
			return dialContext(ctx, network, address)
		}
		all, err := r.addresses(ctx, address)
		if err != nil {
			return nil, err
		}
		if err := allowed(p, address, all); err != nil {
			return nil, err
		}
		var c net.Conn
		for _, a := range all {
			if c, err = dialContext(ctx, network, a); err == nil || ctx.Err() != nil {
				break
			}
		}
		return c, err
	}
}
