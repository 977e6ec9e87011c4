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

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/controllers/internal/record"
	"github.com/h2surge/h2surge/controllers/internal/run"
	"github.com/h2surge/h2surge/internal/compile"
)

// Rights for the address policy.
//   - nodes list: rule Nodes.
//   - endpointslices list: those of the Service of the API server, for rule APIServer.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list

// listInterval is how long a list of addresses is used.
const listInterval = time.Minute

// addressRules makes the address policy from the operator's configuration and the cluster.
type addressRules struct {
	cfg       *configv1alpha1.TargetPolicy
	apiServer runnerv1alpha1.AddressRule // without its endpoints
	reader    client.Reader

	// reading guards the lists, which a request to the API server fills. Waiting for it ends with a context.
	reading   *semaphore.Weighted
	nodes     addressList // ranges of one address
	endpoints addressList // ranges of one address, of the API server

	mu      sync.Mutex
	lacking []string // rules whose addresses the operator has no right to list; guarded by mu
}

// addressList is a sorted list of addresses in the cluster.
type addressList struct {
	addresses []string
	at        time.Time
}

// newAddressRules takes the address of the API server from the URL that the operator uses, and from the environment of
// its pod.
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
	return &addressRules{cfg: cfg, apiServer: rule, reader: reader, reading: semaphore.NewWeighted(1)}
}

func rangeOf(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	return netip.PrefixFrom(ip, ip.BitLen()).String()
}

// policy returns the rules of the configuration and then those of the cluster.
func (a *addressRules) policy(ctx context.Context, now time.Time) (*runnerv1alpha1.AddressPolicy, error) {
	out := run.ConfiguredAddresses(a.cfg)
	for _, name := range a.cfg.DeniedByDefault {
		switch name {
		case configv1alpha1.DeniedAPIServer:
			rule, err := a.apiServerRule(ctx, now)
			if err != nil {
				return nil, err
			}
			out.Denied = append(out.Denied, rule)
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

// nodeRanges returns the addresses of the nodes; nil: the operator may not list nodes.
func (a *addressRules) nodeRanges(ctx context.Context, now time.Time) ([]string, error) {
	if err := a.reading.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer a.reading.Release(1)
	return a.nodes.get(now, func() ([]string, error) {
		list := &corev1.NodeList{}
		err := a.list(ctx, configv1alpha1.DeniedNodes, list)
		return nodeRanges(list.Items), err
	})
}

// apiServerRule returns the rule with the endpoints of the Service: requests to them reach the API server as those to
// the Service do. Without the right to list them, it is the Service alone.
func (a *addressRules) apiServerRule(ctx context.Context, now time.Time) (runnerv1alpha1.AddressRule, error) {
	if err := a.reading.Acquire(ctx, 1); err != nil {
		return a.apiServer, err
	}
	defer a.reading.Release(1)
	endpoints, err := a.endpoints.get(now, func() ([]string, error) {
		list := &discoveryv1.EndpointSliceList{}
		err := a.list(ctx, configv1alpha1.DeniedAPIServer, list, client.InNamespace(metav1.NamespaceDefault),
			client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"})
		return endpointRanges(list.Items), err
	})
	rule := a.apiServer
	rule.CIDRs = slices.Concat(rule.CIDRs, endpoints)
	slices.Sort(rule.CIDRs)
	rule.CIDRs = slices.Compact(rule.CIDRs)
	return rule, err
}

// list returns no objects and no error if the operator has no right to list them, and notes that. The caller holds
// reading.
func (a *addressRules) list(ctx context.Context, rule string, list client.ObjectList, opts ...client.ListOption) error {
	err := a.reader.List(ctx, list, opts...)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lacking = slices.DeleteFunc(a.lacking, func(lacks string) bool { return lacks == rule })
	if apierrors.IsForbidden(err) {
		a.lacking = append(a.lacking, rule)
		logr.FromContextOrDiscard(ctx).Info(
			"A rule of targets.deniedByDefault lacks addresses, because the operator has no right to list them", "rule", rule,
			"message", err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing addresses for rule %s: %w", rule, err)
	}
	return nil
}

// incomplete returns the rules of the last policies that lack addresses.
func (a *addressRules) incomplete() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(slices.Values(a.lacking))
}

// warnings returns a warning for each rule of the address policy that lacks addresses.
func (a *addressRules) warnings() (out []string) {
	for _, rule := range a.incomplete() {
		out = append(out, "rule "+rule+" of targets.deniedByDefault lacks addresses: the operator has no right to list them")
	}
	return out
}

// get returns the list, and reads it again if it is old.
func (l *addressList) get(now time.Time, read func() ([]string, error)) ([]string, error) {
	if !l.at.IsZero() && now.Sub(l.at) < listInterval {
		return l.addresses, nil
	}
	addresses, err := read()
	if err != nil {
		return nil, err
	}
	slices.Sort(addresses)
	l.addresses, l.at = slices.Compact(addresses), now
	return l.addresses, nil
}

// endpointRanges returns the addresses of endpoints.
func endpointRanges(list []discoveryv1.EndpointSlice) (out []string) {
	for i := range list {
		for _, endpoint := range list[i].Endpoints {
			for _, address := range endpoint.Addresses {
				out = appendRange(out, address)
			}
		}
	}
	return out
}

func nodeRanges(nodes []corev1.Node) (out []string) {
	for i := range nodes {
		for _, address := range nodes[i].Status.Addresses {
			out = appendRange(out, address.Address)
		}
	}
	return out
}

// appendRange appends the range of an IP address, but no name and no loopback address, which is the runner's own pod.
func appendRange(dst []string, address string) []string {
	if ip, err := netip.ParseAddr(address); err == nil && !ip.IsLoopback() {
		dst = append(dst, rangeOf(ip))
	}
	return dst
}

// setAddresses finds the address policy of a plan that is compiled now. Unless the test is pending, the addresses of
// the cluster stay those of the stored plan, also for another operator: a node that joins must not lead to another plan
// and another Job. A test that is suspended before the start or loses its lock is pending again, and has no Job.
func (o *observer) setAddresses(ctx context.Context, f *run.Facts) error {
	c := o.memory.of(f.LoadTest)
	if c.addresses == nil || f.Record.State == record.Pending {
		addresses, err := o.rules.policy(ctx, f.Now)
		if err != nil {
			return err
		}
		if addresses != nil && f.Record.State != record.Pending {
			stored, _, err := o.readPlan(ctx, f)
			if err != nil {
				return err
			}
			if stored != nil && o.rules.same(addresses, stored.Policy) {
				addresses = stored.Policy
			}
		}
		c.addresses = addresses
	}
	f.Addresses = c.addresses
	return nil
}

// same returns whether two policies have the same rules, whatever addresses the cluster has. If not, the configuration
// is another one since.
func (a *addressRules) same(now, before *runnerv1alpha1.AddressPolicy) bool {
	if before == nil || len(before.Denied) != len(now.Denied) {
		return false
	}
	denied := slices.Clone(before.Denied)
	for i := len(run.ConfiguredAddresses(a.cfg).Denied); i < len(denied); i++ { // those of the cluster are the last
		denied[i].CIDRs = now.Denied[i].CIDRs
	}
	return equality.Semantic.DeepEqual(now.Allowed, before.Allowed) && equality.Semantic.DeepEqual(now.Denied, denied)
}

// checkPodTemplate returns what is wrong with runner.podTemplate of the configuration.
func checkPodTemplate(cfg *configv1alpha1.OperatorConfig) error {
	if _, errs := compile.PodTemplate(cfg.Runner.PodTemplate); len(errs) > 0 {
		return fmt.Errorf("invalid %s: %w", configv1alpha1.Kind, errs.ToAggregate())
	}
	return nil
}
