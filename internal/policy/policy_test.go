package policy_test

import (
	"net/netip"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/policy"
)

func parse(t *testing.T, p rv.AddressPolicy) *policy.Policy {
	t.Helper()
	out, err := policy.Parse(&p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHost(t *testing.T) {
	denied := []rv.AddressRule{
		{Name: "metadata", Hosts: []string{"metadata.*"}, CIDRs: []string{"169.254.0.0/16", "fd00:ec2::254/128"}},
		{Name: "api", Hosts: []string{"Kubernetes.default.svc"}},
		{Name: "mapped", CIDRs: []string{"::ffff:10.9.0.0/112"}},
	}
	hosts := []rv.AddressRule{{Name: "shop", Hosts: []string{"*.shop.svc"}}}
	ranges := []rv.AddressRule{{Name: "shop", Hosts: []string{"*.shop.svc"}, CIDRs: []string{"10.0.0.0/8"}}}
	for _, tt := range []struct {
		name    string
		allowed []rv.AddressRule
		host    string
		want    string
	}{
		{"another host", nil, "a.example.com", ""},
		{"an IP address", nil, "169.254.169.254", "metadata"},
		{"a mapped IP address", nil, "::ffff:169.254.169.254", "metadata"},
		{"an IPv6 address", nil, "fd00:ec2::254", "metadata"},
		{"an IPv6 address with a zone", nil, "fd00:ec2::254%eth0", "metadata"},
		{"a range of mapped addresses", nil, "10.9.1.2", "mapped"},
		{"a pattern", nil, "metadata.google.internal", "metadata"},
		{"a final dot", nil, "metadata.google.internal.", "metadata"},
		{"other case", nil, "KUBERNETES.default.svc", "api"},
		{"part of a name", nil, "my.kubernetes.default.svc", ""},
		{"an allowed host", hosts, "cart.shop.svc", ""},
		{"not allowed", hosts, "shop.svc", policy.NotAllowed},
		{"not allowed address", hosts, "10.0.0.1", policy.NotAllowed},
		{"its address decides", ranges, "other.svc", ""},
		{"an allowed address", ranges, "10.0.0.1", ""},
		{"denied although allowed", ranges, "10.9.0.1", "mapped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parse(t, rv.AddressPolicy{Allowed: tt.allowed, Denied: denied}).Host(tt.host); got != tt.want {
				t.Errorf("rule %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	p := parse(t, rv.AddressPolicy{
		Allowed: []rv.AddressRule{{Name: "shop", Hosts: []string{"*.shop.svc"}, CIDRs: []string{"10.0.0.0/8"}}},
		Denied:  []rv.AddressRule{{Name: "metadata", CIDRs: []string{"169.254.0.0/16"}}},
	})
	for _, tt := range []struct{ host, ip, want string }{
		{"a.shop.svc", "192.0.2.1", ""},
		{"a.shop.svc", "169.254.169.254", "metadata"},
		{"other.svc", "10.1.2.3", ""},
		{"other.svc", "::ffff:10.1.2.3", ""},
		{"other.svc", "192.0.2.1", policy.NotAllowed},
	} {
		if got := p.Address(tt.host, netip.MustParseAddr(tt.ip)); got != tt.want {
			t.Errorf("%s at %s: rule %q, want %q", tt.host, tt.ip, got, tt.want)
		}
	}
	var none *policy.Policy
	if got := none.Address("a", netip.MustParseAddr("169.254.1.1")); got != "" {
		t.Errorf("no policy: rule %q", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, r := range []rv.AddressRule{{Name: "a", Hosts: []string{"[a"}}, {Name: "a", CIDRs: []string{"10.0.0.1"}}} {
		if _, err := policy.Parse(&rv.AddressPolicy{Denied: []rv.AddressRule{r}}); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}
