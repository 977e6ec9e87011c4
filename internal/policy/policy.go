// Package policy decides whether a runner may connect to an address. The operator checks the hosts of a spec, and the
// runner checks the addresses that a name server returns.
package policy

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
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

// unmapped returns the IPv4 range of a range of IPv4-mapped IPv6 addresses, because matches compares IPv4 addresses.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// matches reports whether a host has one of the names, or an address is in one of the ranges. The zero address is not.
func (r *rule) matches(host string, ip netip.Addr) bool {
	for _, pattern := range r.hosts {
		if ok, _ := path.Match(pattern, host); ok {
			return true
		}
	}
	return slices.ContainsFunc(r.ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Host returns the name of the rule that denies a host before its name is resolved; "": none does. The host of a URL
// can be an IP address.
func (p *Policy) Host(host string) string {
	ip, err := netip.ParseAddr(host)
	return p.denying(host, ip, err == nil)
}

// Address returns the name of the rule that denies a connection to an IP address of a host; "": none does.
func (p *Policy) Address(host string, ip netip.Addr) string { return p.denying(host, ip, true) }

// denying returns the name of the rule that denies a host with an address. An allowed rule can match the address of a
// host that is not resolved yet, so then only rules without ranges decide that none matches.
func (p *Policy) denying(host string, ip netip.Addr, resolved bool) string {
	if p == nil {
		return ""
	}
	host, ip = canonical(host), ip.Unmap().WithZone("")
	matches := func(r rule) bool { return r.matches(host, ip) }
	if i := slices.IndexFunc(p.denied, matches); i >= 0 {
		return p.denied[i].name
	}
	if len(p.allowed) > 0 && (resolved || p.onlyHosts) && !slices.ContainsFunc(p.allowed, matches) {
		return NotAllowed
	}
	return ""
}
