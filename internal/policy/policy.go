// Package policy decides whether a runner may connect to an address. The operator checks the hosts of a spec, and the
// runner checks the addresses that a name server returns.
package policy

import (
	"fmt"
	"net/netip"
	"path"
	"strings"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// NotAllowed is the name of the rule in messages if an address matches none of the allowed rules.
const NotAllowed = "allowed"

// Policy is a parsed rv.AddressPolicy. Nil allows all addresses.
type Policy struct {
	allowed, denied []rule
	// onlyHosts is true if no allowed rule has a CIDR, so that a host name alone decides.
	onlyHosts bool
}

type rule struct {
	name   string
	hosts  []string
	ranges []netip.Prefix
}

// Parse returns the policy; nil: there are no rules.
func Parse(p *rv.AddressPolicy) (*Policy, error) {
	if p == nil || len(p.Allowed)+len(p.Denied) == 0 {
		return nil, nil
	}
	out := &Policy{onlyHosts: true}
	var err error
	if out.allowed, err = parse(p.Allowed); err != nil {
		return nil, err
	}
	if out.denied, err = parse(p.Denied); err != nil {
		return nil, err
	}
	for i := range out.allowed {
		out.onlyHosts = out.onlyHosts && len(out.allowed[i].ranges) == 0
	}
	return out, nil
}

func parse(rules []rv.AddressRule) (out []rule, err error) {
	for _, r := range rules {
		parsed := rule{name: r.Name}
		for _, h := range r.Hosts {
			if _, err := path.Match(h, ""); err != nil {
				return nil, fmt.Errorf("rule %s: host %q: %w", r.Name, h, err)
			}
			parsed.hosts = append(parsed.hosts, canonical(h))
		}
		for _, c := range r.CIDRs {
			p, err := netip.ParsePrefix(c)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.Name, err)
			}
			parsed.ranges = append(parsed.ranges, unmapped(p))
		}
		out = append(out, parsed)
	}
	return out, nil
}

// unmapped returns the IPv4 range of a range of IPv4-mapped IPv6 addresses, because contains compares IPv4 addresses.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func (r *rule) matchesHost(host string) bool {
	for _, pattern := range r.hosts {
		if ok, _ := path.Match(pattern, host); ok {
			return true
		}
	}
	return false
}

func (r *rule) contains(ip netip.Addr) bool {
	for _, p := range r.ranges {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// Host returns the name of the rule that denies a host before its name is resolved; "": none does. The host of a URL
// can be an IP address.
func (p *Policy) Host(host string) string {
	if p == nil {
		return ""
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return p.Address(host, ip)
	}
	host = canonical(host)
	for i := range p.denied {
		if p.denied[i].matchesHost(host) {
			return p.denied[i].name
		}
	}
	if len(p.allowed) > 0 && p.onlyHosts && !p.allows(host, netip.Addr{}) {
		return NotAllowed
	}
	return ""
}

// Address returns the name of the rule that denies a connection to an IP address of a host; "": none does.
func (p *Policy) Address(host string, ip netip.Addr) string {
	if p == nil {
		return ""
	}
	host, ip = canonical(host), ip.Unmap().WithZone("")
	for i := range p.denied {
		if p.denied[i].matchesHost(host) || p.denied[i].contains(ip) {
			return p.denied[i].name
		}
	}
	if len(p.allowed) > 0 && !p.allows(host, ip) {
		return NotAllowed
	}
	return ""
}

func (p *Policy) allows(host string, ip netip.Addr) bool {
	for i := range p.allowed {
		if p.allowed[i].matchesHost(host) || p.allowed[i].contains(ip) {
			return true
		}
	}
	return false
}
