//go:build chart

package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/golden"
)

// cases are the values whose objects are in testdata/NAME.yaml, all but the CRD and the
// dashboards.
var cases = map[string]string{
	"default":    "",
	"namespaced": valuesFile("values-namespaced.yaml"),
	"full":       valuesFile("values-full.yaml"),
}

func valuesFile(name string) string {
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		panic(err) // the file is beside this one
	}
	return string(raw)
}

func TestGolden(t *testing.T) {
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			golden.Compare(t, name+".yaml", render(t, values+"\ncrd: {install: false}\n"))
		})
	}
}

func TestObjectsAreOfTheAPI(t *testing.T) {
	for _, values := range cases {
		ofTheAPI(t, objects(t, render(t, values)))
	}
}

// ofTheAPI decodes objects strictly: an API server would drop fields that it does not know.
func ofTheAPI(t *testing.T, all []*unstructured.Unstructured) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, o := range all {
		if o.GroupVersionKind().Group == "monitoring.coreos.com" {
			continue // no dependency of ours has these types
		}
		raw, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := decoder.Decode(raw, nil, nil); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// With watchNamespaces an installation needs rights in namespaces only.
func TestNamespacedIsNamespaced(t *testing.T) {
	for _, o := range objects(t, render(t, cases["namespaced"]+"\ncrd: {install: false}\n")) {
		if o.GetNamespace() == "" {
			t.Errorf("%s %s is in no namespace", o.GetKind(), o.GetName())
		}
		if strings.HasPrefix(o.GetKind(), "Cluster") {
			t.Errorf("there is a %s", o.GetKind())
		}
	}
}

// TestReleasesInOneCluster: two releases with different names and namespaces share no object, also of those that belong
// to the cluster.
func TestReleasesInOneCluster(t *testing.T) {
	touch(t)
	seen := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		values := `
crd: {install: false}
watchNamespaces: [team-` + name + `]
metrics: {readers: [{namespace: monitoring, name: prometheus}]}
tenants: [{name: t, namespaces: [team-` + name + `], limits: {shards: 1}}]
`
		out, err := helm(t, values, "template", "surge-"+name, chartDir, oldest, "--namespace", "surge-"+name)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects(t, out) {
			id := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
			if seen[id] {
				t.Errorf("both have %s", id)
			}
			seen[id] = true
		}
	}
}

// No two objects may be the same one, and all carry the labels that say whose they are.
func TestObjectsAreTold(t *testing.T) {
	for name, values := range cases {
		var seen []string
		for _, o := range objects(t, render(t, values)) {
			id := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
			if slices.Contains(seen, id) {
				t.Errorf("%s: %s is there twice", name, id)
			}
			seen = append(seen, id)
			if o.GetLabels()["team"] == "extra" {
				continue // of extraObjects
			}
			if l := o.GetLabels(); l["app.kubernetes.io/instance"] != release || l["app.kubernetes.io/managed-by"] != "Helm" {
				t.Errorf("%s: labels of %s: %v", name, id, l)
			}
		}
	}
}

func TestLint(t *testing.T) {
	touch(t)
	for name, values := range cases {
		if _, err := helm(t, values, "lint", "--strict", "--quiet", chartDir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
