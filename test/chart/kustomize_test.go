//go:build chart

package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

// build is "kubectl kustomize" of config/default with components, and with more lines in the kustomization.
func build(t *testing.T, more string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Skip("SKIPPED: KUBEBUILDER_ASSETS is not set; make chart-test sets it")
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "config"), os.DirFS(root+"/config")); err != nil {
		t.Fatal(err)
	}
	text := "resources: [config/default]\n" + more + "\n"
	if len(components) > 0 {
		text += "components: [config/components/" + strings.Join(components, ", config/components/") + "]\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(assets, "kubectl"), "kustomize", dir)
	cmd.Env = []string{"HOME=" + dir}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v\n%s", err, stderr.String())
	}
	all := objects(t, string(out))
	ofTheAPI(t, all)
	for where, spec := range podSpecs(t, all) {
		restricted(t, where, spec)
	}
	return all
}

// ids are the kinds and names of objects, without the hash in the name of the configuration.
func ids(all []*unstructured.Unstructured) (out []string) {
	for _, o := range all {
		name := o.GetName()
		if o.GetKind() == "ConfigMap" {
			name = name[:strings.LastIndex(name, "-")]
		}
		out = append(out, o.GetKind()+" "+name)
	}
	return out
}

// without returns the entries of a that b does not have.
func without(a, b []string) (out []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// inAnyNamespace removes the operator's namespace from the expressions of the chart's alerts: those of the component do
// not have it. Instead, the one with a metric that other operators have, too, is for namespaces with h2surge.
var inAnyNamespace = strings.NewReplacer(`,namespace="`+namespace+`"`, "", `{namespace="`+namespace+`"}`, "",
	"\n            ) > 0\n", "\n            ) > 0\n            "+
		`and on (namespace) h2surge_operator_writes_refused_total`+"\n")

// TestComponents: each component adds and removes these objects, and those that the chart has too say the same.
func TestComponents(t *testing.T) {
	const monitoring = "[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]"
	for component, tc := range map[string]struct {
		values         string
		added, removed []string
	}{
		"prometheus": {
			"metrics: {serviceMonitor: {enabled: true}, podMonitor: {enabled: true}, prometheusRule: {enabled: true}}",
			[]string{"PodMonitor h2surge-runners", "PrometheusRule h2surge", "ServiceMonitor h2surge-controller-manager"}, nil,
		},
		"network-policies": {
			"networkPolicy: {enabled: true, runnerNamespaces: [load], metricsFrom: " + monitoring + "}",
			[]string{"NetworkPolicy h2surge-controller-manager"}, nil,
		},
		"ha": {"replicas: 2", []string{"PodDisruptionBudget h2surge-controller-manager"}, nil},
		"namespaced": {
			"watchNamespaces: [h2surge-system]",
			[]string{
				"ClusterRole h2surge-metrics-auth", "ClusterRoleBinding h2surge-metrics-auth",
				"RoleBinding h2surge-loadtests",
			},
			[]string{"ClusterRoleBinding h2surge-manager"},
		},
	} {
		t.Run(component, func(t *testing.T) {
			base, all := build(t, ""), build(t, "", component)
			if diff := cmp.Diff(tc.added, without(ids(all), ids(base))); diff != "" {
				t.Errorf("added objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.removed, without(ids(base), ids(all))); diff != "" {
				t.Errorf("removed objects (-want +got):\n%s", diff)
			}
			chart := objects(t, inAnyNamespace.Replace(render(t, tc.values+"\ntest: {enabled: false}")))
			for _, id := range append(tc.added, "Deployment h2surge-controller-manager") {
				kind, name, _ := strings.Cut(id, " ")
				if name != "h2surge-loadtests" { // there the chart has a Role, and kustomize the ClusterRole
					sameObject(t, find(t, all, kind, name), find(t, chart, kind, name))
				}
			}
		})
	}
}

func sameObject(t *testing.T, kustomize, chart *unstructured.Unstructured) {
	t.Helper()
	for _, o := range []*unstructured.Unstructured{kustomize, chart} {
		same(o)
		withoutInstance(o.Object)
		if o.GetKind() == "Deployment" {
			unstructured.RemoveNestedField(o.Object, "spec", "template", "spec", "volumes") // the name of the configuration
		}
	}
	if diff := cmp.Diff(kustomize.Object, chart.Object); diff != "" {
		t.Errorf("%s %s (-kustomize +chart):\n%s", kustomize.GetKind(), kustomize.GetName(), diff)
	}
}

// withoutInstance removes the label of Helm's release from selectors.
func withoutInstance(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "app.kubernetes.io/instance")
		for _, below := range v {
			withoutInstance(below)
		}
	case []any:
		for _, below := range v {
			withoutInstance(below)
		}
	}
}

// TestRunnerPolicy: the policy for the namespaces of LoadTests is that of the chart, also for an operator in another
// namespace.
func TestRunnerPolicy(t *testing.T) {
	touch(t)
	values := "networkPolicy: {enabled: true, runnerNamespaces: [load], " +
		"metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]}"
	for _, operator := range []string{namespace, "team-a"} {
		text := read(t, "config/components/network-policies/runners.yaml")
		policy := objects(t, strings.ReplaceAll(text, namespace, operator))
		ofTheAPI(t, policy)
		out, err := helm(t, values, "template", release, chartDir, oldest, "--namespace", operator)
		if err != nil {
			t.Fatal(err)
		}
		chart := find(t, objects(t, out), "NetworkPolicy", "h2surge-runners")
		chart.SetNamespace("") // kubectl apply -n sets it
		sameObject(t, policy[0], chart)
	}
}

// TestNamespacedComponent: in another namespace than h2surge-system, the operator has its rights there and watches
// that namespace.
func TestNamespacedComponent(t *testing.T) {
	all := build(t, `
namespace: team-a
patches:
  - patch: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: h2surge-config, namespace: h2surge-system}
      data:
        config.yaml: |
          apiVersion: config.h2surge.io/v1alpha1
          kind: OperatorConfig
          namespaces: [team-a]
`, "namespaced", "ha", "network-policies", "prometheus")
	operator := rbacv1.Subject{Kind: "ServiceAccount", Name: "h2surge-controller-manager", Namespace: "team-a"}
	binding := as[rbacv1.RoleBinding](t, find(t, all, "RoleBinding", "h2surge-loadtests"))
	if binding.Namespace != "team-a" || binding.RoleRef.Kind != "ClusterRole" ||
		binding.RoleRef.Name != "h2surge-manager" || !slices.Equal(binding.Subjects, []rbacv1.Subject{operator}) {
		t.Errorf("binding: %+v", binding)
	}
	for _, o := range all {
		if text := fmt.Sprint(o.Object); strings.Contains(text, namespace) {
			t.Errorf("%s %s has namespace %s:\n%s", o.GetKind(), o.GetName(), namespace, text)
		}
		switch o.GetKind() {
		case "ClusterRoleBinding":
			if b := as[rbacv1.ClusterRoleBinding](t, o); b.Name != "h2surge-metrics-auth" ||
				!slices.Equal(b.Subjects, []rbacv1.Subject{operator}) {
				t.Errorf("the operator has rights in all namespaces: %+v", b)
			}
		case "ConfigMap":
			cm := as[corev1.ConfigMap](t, o)
			env := configv1alpha1.Environment{Image: "h2surge:dev", Namespace: "team-a"}
			cfg, err := configv1alpha1.Load([]byte(cm.Data["config.yaml"]), env)
			if err != nil || !slices.Equal(cfg.Namespaces, []string{"team-a"}) {
				t.Errorf("configuration: %+v, %v", cfg, err)
			}
			if volume := deployment(t, all).Spec.Template.Spec.Volumes[0]; volume.ConfigMap.Name != cm.Name {
				t.Errorf("the operator reads %s, want %s", volume.ConfigMap.Name, cm.Name)
			}
		}
	}
	if got := *deployment(t, all).Spec.Replicas; got != 2 {
		t.Errorf("%d replicas", got)
	}
}

// TestConfigOfNamespacedComponent: it differs from that of config/manager by the namespace only.
func TestConfigOfNamespacedComponent(t *testing.T) {
	load := func(file string) *configv1alpha1.OperatorConfig {
		env := configv1alpha1.Environment{Image: "h2surge:dev", Namespace: namespace}
		cfg, err := configv1alpha1.Load([]byte(read(t, file)), env)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	want := load("config/manager/config.yaml")
	want.Namespaces = []string{namespace}
	if diff := cmp.Diff(want, load("config/components/namespaced/config.yaml")); diff != "" {
		t.Errorf("(-config/manager +component):\n%s", diff)
	}
}
