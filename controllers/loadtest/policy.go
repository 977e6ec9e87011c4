package loadtest

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/policy"
)

// nodesInterval is how long a list of nodes is used.
const nodesInterval = time.Minute

// addressRules makes the address policy from the operator's configuration and the cluster.
type addressRules struct {
	cfg       *configv1alpha1.TargetPolicy
	apiServer runnerv1alpha1.AddressRule
	reader    client.Reader

	mu     sync.Mutex // guards the fields below
	nodes  []string   // ranges of one address, sorted
	listed time.Time
}

// newAddressRules takes the address of the API server from the URL that the operator uses, and from the environment of its pod.
func newAddressRules(cfg *configv1alpha1.TargetPolicy, apiServer string, reader client.Reader) *addressRules {
	rule := runnerv1alpha1.AddressRule{Name: configv1alpha1.DeniedAPIServer, Hosts: []string{
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.*",
	}}
	hosts := []string{os.Getenv("KUBERNETES_SERVICE_HOST")}
	if u, err := url.Parse(apiServer); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	for _, host := range hosts {
		switch ip, err := netip.ParseAddr(host); {
		case err == nil && !ip.IsLoopback(): // loopback of a runner is its own pod
			rule.CIDRs = append(rule.CIDRs, rangeOf(ip))
		case err != nil && host != "" && host != "localhost":
			rule.Hosts = append(rule.Hosts, host)
		}
	}
	slices.Sort(rule.CIDRs)
	rule.CIDRs = slices.Compact(rule.CIDRs)
	return &addressRules{cfg: cfg, apiServer: rule, reader: reader}
}

// metadata are link-local addresses, with those of the metadata servers of most clouds, and the servers with other addresses: of
// AWS and Google Cloud over IPv6, of Azure and of Alibaba Cloud.
var metadata = runnerv1alpha1.AddressRule{
	Name:  configv1alpha1.DeniedMetadata,
	Hosts: []string{"metadata.google.internal"},
	CIDRs: []string{"169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "fd20:ce::254/128", "168.63.129.16/32", "100.100.100.200/32"},
}

func rangeOf(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	return netip.PrefixFrom(ip, ip.BitLen()).String()
}

// policy returns the rules of the configuration and then the built-in ones.
func (a *addressRules) policy(ctx context.Context, now time.Time) (*runnerv1alpha1.AddressPolicy, error) {
	out := &runnerv1alpha1.AddressPolicy{Allowed: rulesOf(a.cfg.Allowed), Denied: rulesOf(a.cfg.Denied)}
	for _, name := range a.cfg.DeniedByDefault {
		switch name {
		case configv1alpha1.DeniedAPIServer:
			out.Denied = append(out.Denied, a.apiServer)
		case configv1alpha1.DeniedMetadata:
			out.Denied = append(out.Denied, metadata)
		case configv1alpha1.DeniedNodes:
			nodes, err := a.nodeRanges(ctx, now)
			if err != nil {
				return nil, err
			}
			if len(nodes) > 0 {
				out.Denied = append(out.Denied, runnerv1alpha1.AddressRule{Name: name, CIDRs: nodes})
			}
		}
	}
	if len(out.Allowed)+len(out.Denied) == 0 {
		return nil, nil
	}
	return out, nil
}

func rulesOf(rules []configv1alpha1.AddressRule) (out []runnerv1alpha1.AddressRule) {
	for _, r := range rules {
		out = append(out, runnerv1alpha1.AddressRule{Name: r.Name, Hosts: r.Hosts, CIDRs: r.CIDRs})
	}
	return out
}

// nodeRanges returns the addresses of the nodes; nil: the operator may not list nodes.
func (a *addressRules) nodeRanges(ctx context.Context, now time.Time) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.listed.IsZero() && now.Sub(a.listed) < nodesInterval {
		return a.nodes, nil
	}
	list := &corev1.NodeList{}
	switch err := a.reader.List(ctx, list); {
	case apierrors.IsForbidden(err):
		list.Items = nil
	case err != nil:
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	a.nodes, a.listed = nodeRanges(list.Items), now
	return a.nodes, nil
}

func nodeRanges(nodes []corev1.Node) (out []string) {
	for i := range nodes {
		for _, address := range nodes[i].Status.Addresses {
			if ip, err := netip.ParseAddr(address.Address); err == nil && !ip.IsLoopback() {
				out = append(out, rangeOf(ip))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// setAddresses finds the address policy of a plan that is compiled now. It stays the same as long as the run has a Job: a node that joins
// must not lead to another plan and another Job.
func (r *reconciler) setAddresses(ctx context.Context, s *scope) (err error) {
	c := r.memory.of(s.lt)
	if c.addresses == nil || s.job == nil {
		if c.addresses, err = r.addressRules.policy(ctx, s.now); err != nil {
			return err
		}
	}
	s.addresses = c.addresses
	return nil
}

// denied returns what the operator's configuration does not allow in a plan.
func (r *reconciler) denied(s *scope, compiled *runnerv1alpha1.Plan) (field.ErrorList, error) {
	addresses, err := policy.Parse(compiled.Policy)
	if err != nil {
		return nil, fmt.Errorf("the address policy: %w", err)
	}
	limits := r.liveLimits()
	limits.Duration, limits.Connections = r.cfg.Limits.Duration.Duration, r.cfg.Limits.Connections
	limits.Addresses, limits.DeniedPodFields = addresses, r.cfg.Runner.DeniedPodFields
	return limits.Check(&s.lt.Spec, compiled), nil
}

// liveLimits are the limits of what can change while a test runs.
func (r *reconciler) liveLimits() *compile.Limits {
	return &compile.Limits{RequestsPerSecond: r.cfg.Limits.RequestsPerSecond, Shards: int(r.cfg.Limits.Shards)}
}

// checkPodTemplate returns what is wrong with runner.podTemplate of the configuration.
func checkPodTemplate(cfg *configv1alpha1.OperatorConfig) error {
	if _, errs := compile.PodTemplate(cfg.Runner.PodTemplate); len(errs) > 0 {
		return fmt.Errorf("invalid %s: %w", configv1alpha1.Kind, errs.ToAggregate())
	}
	return nil
}
