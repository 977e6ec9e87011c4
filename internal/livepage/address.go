package livepage

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Loopback is the address of a page if the user gives none: any free port of this machine.
const Loopback = "127.0.0.1:0"

// Address returns the address to listen on. It takes PORT and HOST:PORT. HOST is localhost or an IP address; an address
// that other machines reach is refused unless remote is true.
func Address(given string, remote bool) (string, error) {
	if given == "" {
		return Loopback, nil
	}
	host, port := "127.0.0.1", given
	if strings.Contains(given, ":") {
		var err error
		if host, port, err = net.SplitHostPort(given); err != nil {
			return "", fmt.Errorf("%q is not an address; allowed: PORT or HOST:PORT", given)
		}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("%q is not a port; allowed: 0 to 65535", port)
	}
	switch {
	case host == "localhost":
		host = "127.0.0.1"
	case host == "" && remote:
	case !remote && !isLoopback(host):
		return "", fmt.Errorf("other machines can reach %q; allowed: an address of this machine only, such as 127.0.0.1",
			host)
	}
	return net.JoinHostPort(host, port), nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// isAllowed reports whether a Host header can be one of this server. A web page of another site that makes its name
// resolve to this machine (DNS rebinding) sends that name. So only localhost and IP addresses are allowed, and only
// those of this machine unless remote is true.
func isAllowed(host string, remote bool) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "localhost" || isLoopback(host) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return remote && err == nil
}
