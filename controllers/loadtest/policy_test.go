package loadtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/policy"
)

// nodeReader lists nodes, and the endpoints of the API server. If it is forbidden, the operator has no permission to.
type nodeReader struct {
	client.Reader
	forbidden        bool
	nodes, endpoints []string
	lists            int
}

func (r *nodeReader) List(_ context.Context, to client.ObjectList, _ ...client.ListOption) error {
	r.lists++
	if r.forbidden {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
	}
	if slices, ok := to.(*discoveryv1.EndpointSliceList); ok {
		slices.Items = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{Addresses: r.endpoints}}}}
		return nil
	}
	for _, address := range r.nodes {
		node := corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "node"}, {Address: address}}}}
		to.(*corev1.NodeList).Items = append(to.(*corev1.NodeList).Items, node)
	}
	return nil
}

func TestDeniedByDefault(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	cfg := &configv1alpha1.OperatorConfig{}
	cfg.SetDefaults(configv1alpha1.Environment{})
	for _, tt := range []struct {
		name, apiServer string
		forbidden       bool
		only            []string
		host, want      string
	}{
		{"the service of the API server", "", false, nil, "10.96.0.1", "APIServer"},
		{"its name", "", false, nil, "kubernetes.default.svc.cluster.local", "APIServer"},
		{"the address that the operator uses", "https://192.0.2.7:6443", false, nil, "192.0.2.7", "APIServer"},
		{"the name that the operator uses", "https://api.example.com:6443", false, nil, "api.example.com", "APIServer"},
		{"an endpoint of the service", "", false, nil, "192.0.2.9", "APIServer"},
		{"an endpoint, mapped", "", false, nil, "::ffff:192.0.2.9", "APIServer"},
		{"an endpoint over IPv6", "", false, nil, "fd01::9", "APIServer"},
		{"endpoints are not known", "", true, nil, "192.0.2.9", ""},
		{"loopback is the pod of the runner", "https://127.0.0.1:6443", false, nil, "127.0.0.1", ""},
		{"metadata of a cloud", "", false, nil, "169.254.169.254", "Metadata"},
		{"metadata over IPv6", "", false, nil, "fd00:ec2::254", "Metadata"},
		{"a node", "", false, nil, "10.0.0.5", "Nodes"},
		{"a node over IPv6", "", false, nil, "fd01::5", "Nodes"},
		{"nodes are not known", "", true, nil, "10.0.0.5", ""},
		{"switched off", "", false, []string{}, "169.254.169.254", ""},
		{"one of them", "", false, []string{"Nodes"}, "169.254.169.254", ""},
		{"a pod", "", false, nil, "10.244.0.9", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			targets := cfg.Targets
			if tt.only != nil {
				targets.DeniedByDefault = tt.only
			}
			rules := newAddressRules(&targets, tt.apiServer, &nodeReader{forbidden: tt.forbidden, nodes: []string{"10.0.0.5", "fd01::5"}, endpoints: []string{"192.0.2.9", "fd01::9"}})
			out, err := rules.policy(t.Context(), time.Unix(1, 0))
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.incomplete(); tt.forbidden != (len(got) > 0) {
				t.Errorf("incomplete rules: %q", got)
			}
			p, err := policy.Parse(out)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Host(tt.host); got != tt.want {
				t.Errorf("%s: rule %q, want %q", tt.host, got, tt.want)
			}
		})
	}
}

func TestNodesAreListedOnceAMinute(t *testing.T) {
	reader := &nodeReader{nodes: []string{"10.0.0.5"}}
	rules := newAddressRules(&configv1alpha1.TargetPolicy{DeniedByDefault: []string{"Nodes"}}, "", reader)
	want := &runnerv1alpha1.AddressPolicy{Denied: []runnerv1alpha1.AddressRule{{Name: "Nodes", CIDRs: []string{"10.0.0.5/32"}}}}
	for _, at := range []time.Duration{0, 59 * time.Second, time.Minute} {
		got, err := rules.policy(t.Context(), time.Unix(1, 0).Add(at))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("after %v: %v (-want +got):\n%s", at, err, diff)
		}
	}
	if reader.lists != 2 {
		t.Errorf("%d lists, want 2", reader.lists)
	}
}

func TestPodTemplateOfConfiguration(t *testing.T) {
	for raw, want := range map[string]string{
		`{"spec":{"tolerations":[{"key":"load"}]}}`: "",
		`{"spec":{"tolerations":[{"kee":"load"}]}}`: "kee",
	} {
		cfg := &configv1alpha1.OperatorConfig{Runner: configv1alpha1.Runner{PodTemplate: &runtime.RawExtension{Raw: []byte(raw)}}}
		if err := checkPodTemplate(cfg); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// TestSameRules: only the addresses of the cluster can differ.
func TestSameRules(t *testing.T) {
	cfg := &configv1alpha1.TargetPolicy{Denied: []configv1alpha1.AddressRule{{Name: "lab", CIDRs: []string{"198.51.100.0/24"}}},
		DeniedByDefault: []string{configv1alpha1.DeniedNodes}}
	policyOf := func(configured, nodes string) *runnerv1alpha1.AddressPolicy {
		return &runnerv1alpha1.AddressPolicy{Denied: []runnerv1alpha1.AddressRule{{Name: "lab", CIDRs: []string{configured}},
			{Name: "Nodes", CIDRs: []string{nodes}}}}
	}
	now := policyOf("198.51.100.0/24", "192.0.2.1/32")
	for name, tt := range map[string]struct {
		before *runnerv1alpha1.AddressPolicy
		want   bool
	}{
		"the same":                {policyOf("198.51.100.0/24", "192.0.2.1/32"), true},
		"another node":            {policyOf("198.51.100.0/24", "192.0.2.2/32"), true},
		"another configured rule": {policyOf("203.0.113.0/24", "192.0.2.1/32"), false},
		"of the configuration":    {&runnerv1alpha1.AddressPolicy{Denied: []runnerv1alpha1.AddressRule{now.Denied[0], {Name: "nodes"}}}, false},
		"a rule less":             {&runnerv1alpha1.AddressPolicy{Denied: now.Denied[:1]}, false},
		"an allowed rule":         {&runnerv1alpha1.AddressPolicy{Allowed: now.Denied, Denied: now.Denied}, false},
		"no policy":               {nil, false},
	} {
		if got := newAddressRules(cfg, "", nil).same(now, tt.before); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
