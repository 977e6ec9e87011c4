package dial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// choose resolves the host of "host:port" and returns its number-th address.
func choose(ctx context.Context, address string, number int) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return address, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", fmt.Errorf("resolve: %w", err)
	}
	return net.JoinHostPort(pick(ips, number).String(), port), nil
}

// pick takes the number-th of the addresses of the family that the resolver puts first
// (RFC 6724), in ascending order: name servers rotate their answers, which would upset an exact
// spread.
func pick(ips []netip.Addr, number int) netip.Addr {
	four := ips[0].Unmap().Is4()
	var same []netip.Addr
	for _, ip := range ips {
		if ip = ip.Unmap(); ip.Is4() == four {
			same = append(same, ip)
		}
	}
	slices.SortFunc(same, netip.Addr.Compare)
	same = slices.Compact(same)
	return same[number%len(same)]
}
