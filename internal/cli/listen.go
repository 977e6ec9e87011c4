package cli

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"
)

// listenAddress is the IP address of the listeners of a test.
type listenAddress struct{ ip netip.Addr }

func (a *listenAddress) register(flags *pflag.FlagSet) {
	flags.Var(a, "listen-address",
		"IP `address` of this machine that the listeners of the test have in their URLs (default 127.0.0.1)")
}

// String returns the address; empty: the default.
func (a *listenAddress) String() string {
	if !a.ip.IsValid() {
		return ""
	}
	return a.ip.String()
}

func (a *listenAddress) Set(s string) (err error) {
	if a.ip, err = netip.ParseAddr(s); err != nil || a.ip.IsUnspecified() {
		return fmt.Errorf("%q must be an IP address of this machine that the target can reach", s)
	}
	return nil
}

func (*listenAddress) Type() string { return "address" }
