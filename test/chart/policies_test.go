//go:build chart

package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/markdown"
)

func policyOfOperator(t *testing.T, all []*unstructured.Unstructured) networkingv1.NetworkPolicySpec {
	t.Helper()
	spec := as[networkingv1.NetworkPolicy](t, find(t, all, "NetworkPolicy", "h2surge-controller-manager")).Spec
	if !cmp.Equal(&spec.PodSelector, deployment(t, all).Spec.Selector) {
		t.Errorf("the policy selects %v", spec.PodSelector)
	}
	return spec
}

// ports are those of a rule, such as 53/UDP.
func ports(rule networkingv1.NetworkPolicyEgressRule) (out []string) {
	for _, p := range rule.Ports {
		out = append(out, p.Port.String()+"/"+string(*p.Protocol))
	}
	return out
}

// The operator reaches DNS, the API server, runners, the storage and the extra peers.
func limited(t *testing.T, all []*unstructured.Unstructured) {
	spec := policyOfOperator(t, all)
	if !slices.Equal(spec.PolicyTypes, []networkingv1.PolicyType{"Ingress", "Egress"}) ||
		len(spec.Egress) != 5 || len(spec.Ingress) != 1 {
		t.Fatalf("policy: %+v", spec)
	}
	for i, want := range []string{"53/UDP 53/TCP 5353/UDP 5353/TCP", "16443/TCP", "8443/TCP", "9000/TCP", "80/TCP"} {
		if got := strings.Join(ports(spec.Egress[i]), " "); got != want {
			t.Errorf("egress %d: ports %s, want %s", i, got, want)
		}
	}
	if to := spec.Egress[1].To; len(to) != 1 || to[0].IPBlock.CIDR != "10.0.0.1/32" {
		t.Errorf("API server: %+v", to)
	}
	runners := spec.Egress[2]
	if got := runners.Ports[0].Port.IntValue(); got != runnerv1alpha1.ControlPort {
		t.Errorf("port %d of runners, want %d", got, runnerv1alpha1.ControlPort)
	}
	policy := as[networkingv1.NetworkPolicy](t, find(t, all, "NetworkPolicy", "h2surge-runners"))
	if to := runners.To; len(to) != 1 || !cmp.Equal(to[0].NamespaceSelector, &metav1.LabelSelector{}) ||
		!cmp.Equal(*to[0].PodSelector, policy.Spec.PodSelector) {
		t.Errorf("runners: %+v", to)
	}
}

// The operator reaches the runners of its namespaces, and the API server at the usual ports.
func limitedInNamespaces(t *testing.T, all []*unstructured.Unstructured) {
	spec := policyOfOperator(t, all)
	if len(spec.Egress) != 3 || len(spec.Ingress) != 0 {
		t.Fatalf("policy: %+v", spec)
	}
	if got := ports(spec.Egress[1]); !slices.Equal(got, []string{"443/TCP", "6443/TCP"}) || spec.Egress[1].To != nil {
		t.Errorf("API server: %v, %+v", got, spec.Egress[1].To)
	}
	want := []metav1.LabelSelectorRequirement{
		{Key: "kubernetes.io/metadata.name", Operator: "In", Values: []string{"team-a", "team-b"}},
	}
	if diff := cmp.Diff(want, spec.Egress[2].To[0].NamespaceSelector.MatchExpressions); diff != "" {
		t.Errorf("namespaces of runners (-want +got):\n%s", diff)
	}
}

// TestPortOfStorage: the port in the URL of the storage, or the default of its scheme.
func TestPortOfStorage(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://s3.example.com": "443/TCP", "http://minio.storage": "80/TCP", "http://minio:9000/": "9000/TCP",
		"https://[fd00::1]": "443/TCP", "https://[fd00::1]:9": "9/TCP",
	} {
		values := "{networkPolicy: {enabled: true, runnerNamespaces: [load]}, " +
			"config: {resultStorage: {bucket: results, endpoint: '" + endpoint + "'}}}"
		if got := ports(policyOfOperator(t, objects(t, render(t, values))).Egress[3]); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", endpoint, got, want)
		}
	}
}

// TestNotes: an installation whose policies end the scrapes says so, and so does one whose tenants can use the rights
// of the operator in other namespaces. Others have no warning.
func TestNotes(t *testing.T) {
	touch(t)
	const scrapes = "WARNING: networkPolicy.metricsFrom is empty"
	const tenants = "WARNING: watchNamespaces has the operator's namespace " + namespace
	for values, want := range map[string]string{
		"": "", policies: "", "networkPolicy: {enabled: true, runnerNamespaces: [load]}": scrapes,
		"watchNamespaces: [team-a, " + namespace + "]": tenants, "watchNamespaces: [" + namespace + "]": "",
		"watchNamespaces: [team-a, team-b]": "",
	} {
		out, err := helm(t, values, "install", release, chartDir, "--dry-run=client", "--namespace", namespace)
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(out, "WARNING: "); warned != (want != "") || !strings.Contains(out, want) {
			t.Errorf("%q: want %q in:\n%s", values, want, out)
		}
	}
}

// TestRunbook: each alert links to a heading of the runbook, or to nothing if the values have no runbook.
func TestRunbook(t *testing.T) {
	page, err := markdown.Parse("docs/operate/runbook.md", read(t, "docs/operate/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	urls := func(values string) map[string]any {
		out := map[string]any{}
		rule := find(t, objects(t, render(t, values)), "PrometheusRule", "h2surge")
		for _, g := range field[[]any](t, rule.Object, "spec", "groups") {
			for _, r := range g.(map[string]any)["rules"].([]any) {
				rule := r.(map[string]any)
				out[rule["alert"].(string)] = rule["annotations"].(map[string]any)["runbook_url"]
			}
		}
		return out
	}
	all := urls("metrics: {prometheusRule: {enabled: true}}")
	for alert, url := range all {
		file, anchor, _ := strings.Cut(url.(string), "#")
		if !strings.HasSuffix(file, "/docs/operate/runbook.md") || anchor != strings.ToLower(alert) || !page.Anchors[anchor] {
			t.Errorf("%s links to %s", alert, url)
		}
	}
	if len(all) != 7 {
		t.Errorf("%d alerts", len(all))
	}
	// Without metrics of the operator, their absence means nothing.
	own := urls("metrics: {enabled: false, podMonitor: {enabled: true}, prometheusRule: {enabled: true}}")
	if own["H2surgeNoLeader"] != nil || own["H2surgeGeneratorBound"] == nil {
		t.Errorf("alerts without metrics of the operator: %v", own)
	}
	for alert, url := range urls("metrics: {prometheusRule: {enabled: true, runbookURL: ''}}") {
		if url != nil {
			t.Errorf("%s links to %s", alert, url)
		}
	}
}
