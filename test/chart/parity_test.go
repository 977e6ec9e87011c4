//go:build chart

package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
)

// manager returns the operator's container.
func manager(t *testing.T, all []*unstructured.Unstructured) map[string]any {
	t.Helper()
	containers := field[[]any](t, find(t, all, "Deployment", "h2surge-controller-manager").Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 {
		t.Fatalf("%d containers", len(containers))
	}
	return containers[0].(map[string]any)
}

func field[T any](t *testing.T, object map[string]any, path ...string) T {
	t.Helper()
	v, found, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil || !found {
		t.Fatalf("no %s: %v", strings.Join(path, "."), err)
	}
	return v.(T)
}

// configured are the objects of config/default, but for what kustomize adds to them.
func configured(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, file := range []string{
		"crd/bases/h2surge.io_loadtests", "crd/bases/h2surge.io_loadtestschedules",
		"crd/bases/internal.h2surge.io_loadtestcheckpoints", "crd/bases/internal.h2surge.io_loadtestlocks", "crd/bases/internal.h2surge.io_loadtestruns",
		"manager/deployment", "manager/metrics-service", "rbac/leader-election", "rbac/loadtest-editor",
		"rbac/loadtest-viewer", "rbac/metrics-reader", "rbac/role", "rbac/role-binding", "rbac/service-account",
	} {
		out = append(out, objects(t, read(t, "config/"+file+".yaml"))...)
	}
	return out
}

// By default the chart installs what config/default does: the same objects, which say the same.
func TestSameAsConfig(t *testing.T) {
	chart := objects(t, render(t, "test: {enabled: false}"))
	for _, want := range configured(t) {
		got := find(t, chart, want.GetKind(), want.GetName())
		same(want)
		same(got)
		diff := cmp.Diff(want.Object, got.Object)
		if want.GetKind() == "CustomResourceDefinition" && diff != "" {
			diff = "make manifests brings them together" // pages of it tell no more
		}
		if diff != "" {
			t.Errorf("%s %s (-config +chart):\n%s", want.GetKind(), want.GetName(), diff)
		}
	}
	// The configuration, below, is the one that has another name.
	if want := len(configured(t)) + 1; len(chart) != want {
		t.Errorf("the chart has %d objects, config %d", len(chart), want)
	}
}

// same takes away what the two say each in its own way.
func same(o *unstructured.Unstructured) {
	var labels map[string]string
	for name, value := range o.GetLabels() {
		if strings.HasPrefix(name, "app.kubernetes.io/") || name == "helm.sh/chart" {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = value
	}
	o.SetLabels(labels)
	annotations := o.GetAnnotations()
	delete(annotations, "helm.sh/resource-policy")
	o.SetAnnotations(annotations)
	switch o.GetKind() {
	case "Deployment":
		sameDeployment(o.Object)
	case "Service":
		unstructured.RemoveNestedField(o.Object, "spec", "selector")
	}
}

func sameDeployment(o map[string]any) {
	for _, path := range [][]string{
		{"spec", "selector"},
		{"spec", "template", "metadata", "labels"},
		{"spec", "template", "metadata", "annotations", "checksum/config"},
	} {
		unstructured.RemoveNestedField(o, path...)
	}
	containers, _, _ := unstructured.NestedSlice(o, "spec", "template", "spec", "containers")
	container := containers[0].(map[string]any)
	delete(container, "image")
	// Kustomize's images do not reach into the environment, so there the operator reads its pod.
	env := container["env"].([]any)
	if last := env[len(env)-1].(map[string]any); last["name"] == "H2SURGE_IMAGE" {
		container["env"] = env[:len(env)-1]
	}
	_ = unstructured.SetNestedSlice(o, containers, "spec", "template", "spec", "containers") // the path was there
}

// What the chart writes is a configuration that the operator takes, and by default the one of
// config/.
func TestOperatorConfig(t *testing.T) {
	load := func(t *testing.T, text string) *configv1alpha1.OperatorConfig {
		t.Helper()
		out, err := configv1alpha1.Load([]byte(text), configv1alpha1.Environment{Image: "h2surge:dev", Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	config := func(t *testing.T, values, name string) *configv1alpha1.OperatorConfig {
		t.Helper()
		return load(t, field[string](t, find(t, objects(t, render(t, values)), "ConfigMap", name).Object, "data", "config.yaml"))
	}
	if diff := cmp.Diff(load(t, read(t, "config/manager/config.yaml")), config(t, "", "h2surge-config")); diff != "" {
		t.Errorf("(-config +chart):\n%s", diff)
	}
	if got := config(t, cases["namespaced"], "h2surge-config"); *got.Metrics.Secure || len(got.Namespaces) != 2 {
		t.Errorf("namespaced: %+v", got)
	}
	if got := config(t, cases["full"], "surge-config"); got.MaxConcurrentReconciles != 8 || got.Report.MaxBytes != 500000 {
		t.Errorf("full: %+v", got)
	}
	if got := config(t, "metrics: {enabled: false}", "h2surge-config"); got.Metrics.BindAddress != "0" {
		t.Errorf("no metrics: %+v", got.Metrics)
	}
}

// A changed configuration restarts the operator, as the hash in a ConfigMap's name does it in
// config/.
func TestConfigRestarts(t *testing.T) {
	sum := func(values string) string {
		d := find(t, objects(t, render(t, values)), "Deployment", "h2surge-controller-manager")
		return field[string](t, d.Object, "spec", "template", "metadata", "annotations", "checksum/config")
	}
	if sum("") == sum("config: {logging: {level: debug}}") {
		t.Error("the pods stay as they are")
	}
}

func TestCRDIsKept(t *testing.T) {
	for values, want := range map[string]string{"": "keep", "crd: {keep: false}": ""} {
		crd := find(t, objects(t, render(t, values)), "CustomResourceDefinition", "loadtests.h2surge.io")
		if got := crd.GetAnnotations()["helm.sh/resource-policy"]; got != want {
			t.Errorf("%q: resource policy %q", values, got)
		}
	}
}
