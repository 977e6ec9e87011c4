package run

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/policy"
)

// metadata are link-local addresses, with those of the metadata servers of most clouds, and the servers with other
// addresses: of AWS and Google Cloud over IPv6, of Azure and of Alibaba Cloud.
var metadata = runnerv1alpha1.AddressRule{
	Name:  configv1alpha1.DeniedMetadata,
	Hosts: []string{"metadata.google.internal"},
	CIDRs: []string{"169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "fd20:ce::254/128", "168.63.129.16/32",
		"100.100.100.200/32"},
}

// ConfiguredAddresses returns the address policy of the configuration without the rules that need addresses of the
// cluster: APIServer and Nodes. It is never nil.
func ConfiguredAddresses(cfg *configv1alpha1.TargetPolicy) *runnerv1alpha1.AddressPolicy {
	out := &runnerv1alpha1.AddressPolicy{Allowed: rulesOf(cfg.Allowed), Denied: rulesOf(cfg.Denied)}
	if slices.Contains(cfg.DeniedByDefault, configv1alpha1.DeniedMetadata) {
		out.Denied = append(out.Denied, metadata)
	}
	return out
}

func rulesOf(rules []configv1alpha1.AddressRule) (out []runnerv1alpha1.AddressRule) {
	for _, r := range rules {
		out = append(out, runnerv1alpha1.AddressRule{Name: r.Name, Hosts: r.Hosts, CIDRs: r.CIDRs})
	}
	return out
}

// Restrict adds what the operator's configuration allows to a plan.
func (f *Facts) Restrict(compiled *runnerv1alpha1.Plan) {
	compiled.Policy, compiled.RequestLimit = f.Addresses, f.Config.Limits.RequestsPerSecond
}

// Denied returns what the operator's configuration and an address policy do not allow in a spec. The plan is that of
// the spec.
func Denied(cfg *configv1alpha1.OperatorConfig, addresses *runnerv1alpha1.AddressPolicy, spec *v1alpha1.LoadTestSpec,
	compiled *runnerv1alpha1.Plan) (field.ErrorList, error) {
	parsed, err := policy.Parse(addresses)
	if err != nil {
		return nil, fmt.Errorf("the address policy: %w", err)
	}
	limits := liveLimits(cfg)
	limits.Duration, limits.Addresses = cfg.Limits.Duration.Duration, parsed
	limits.DeniedPodFields = cfg.Runner.DeniedPodFields
	return limits.Check(spec, compiled), nil
}

// liveLimits are the limits of what can change while a test runs.
func liveLimits(cfg *configv1alpha1.OperatorConfig) *compile.Limits {
	l := &cfg.Limits
	return &compile.Limits{RequestsPerSecond: l.RequestsPerSecond, Shards: int(l.Shards), Connections: l.Connections}
}
