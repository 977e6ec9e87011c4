package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/test/builder"
)

func samples(t *testing.T) []string {
	t.Helper()
	dir := filepath.Join("..", "..", "config", "samples")
	raw, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(raw, &kustomization); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(kustomization.Resources) != len(files)-1 {
		t.Errorf("kustomization.yaml has %d resources, there are %d samples", len(kustomization.Resources), len(files)-1)
	}
	var out []string
	for _, name := range kustomization.Resources {
		out = append(out, filepath.Join(dir, name))
	}
	return append(out, filepath.Join("..", "builder", "full.yaml"))
}

// TestSamePlanByServerAndCommandLine: what the API server stores, with its defaults, compiles to
// the plan that the command line makes of the file.
func TestSamePlanByServerAndCommandLine(t *testing.T) {
	c := newClient(t)
	for _, file := range samples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			m := load(t, file)
			want := hash(t, m.Name(), &m.LoadTest.Spec)
			lt := applied(t, c, file)
			if got := hash(t, lt.Namespace+"/"+lt.Name, &lt.Spec); got != want {
				t.Errorf("by way of the API server the plan is %s, on the command line %s", got, want)
			}
		})
	}
}

func load(t *testing.T, file string) *compile.Manifest {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := compile.Load(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// applied stores all that a file holds and returns the LoadTest among it.
func applied(t *testing.T, c client.Client, file string) *v1alpha1.LoadTest {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lt := &v1alpha1.LoadTest{}
	for text := range strings.SplitSeq(string(raw), "\n---\n") {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: doc}
		u.SetNamespace("default")
		create(t, c, u.Object)
		if u.GetKind() != "LoadTest" {
			continue
		}
		if err := c.Get(context.Background(), client.ObjectKeyFromObject(u), lt); err != nil {
			t.Fatal(err)
		}
	}
	return lt
}

func hash(t *testing.T, name string, spec *v1alpha1.LoadTestSpec) string {
	t.Helper()
	p, _, errs := compile.Compile(name, spec)
	if len(errs) > 0 {
		t.Fatal(compile.ErrorLines(errs))
	}
	sum, err := plan.Hash(p)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestTypedClientKeepsDefaults: a Go client that sends zero values gets the defaults, not errors;
// "runner: {}" must not reach the server as "shards: 0".
func TestTypedClientKeepsDefaults(t *testing.T) {
	c := newClient(t)
	lt := builder.Minimal("typed").Build()
	if err := c.Create(context.Background(), lt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), lt); err != nil {
			t.Error(err)
		}
	})
	if lt.Spec.Runner.Shards != 1 || lt.Spec.WeightBy != v1alpha1.WeightByChains {
		t.Errorf("defaults are missing: %+v", lt.Spec)
	}
	if got, want := hash(t, "default/typed", &lt.Spec), hash(t, "default/typed", &builder.Minimal("typed").Build().Spec); got != want {
		t.Errorf("the stored one compiles to %s, the one sent to %s", got, want)
	}
}

// TestAppliedAgain: the API server stores lists as they were applied. Otherwise kubectl apply, which replaces lists, would patch each time, and a
// second manager that applies the same lists would get conflicts.
func TestAppliedAgain(t *testing.T) {
	c := newClient(t)
	for _, file := range samples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			lt := loadTestOf(t, file)
			once, err := applyAs(c, lt, "first")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Delete(context.Background(), once); err != nil {
					t.Error(err)
				}
			})
			if diff := cmp.Diff(lists(lt.Object["spec"]), lists(once.Object["spec"])); diff != "" {
				t.Errorf("lists as applied and as stored (-applied +stored):\n%s", diff)
			}
			again, err := applyAs(c, lt, "second")
			if err != nil || again.GetGeneration() != once.GetGeneration() {
				t.Errorf("a second manager that applies the same: %v", err)
			}
		})
	}
}

// loadTestOf returns the LoadTest of a file.
func loadTestOf(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(string(raw), "\n---\n") {
		u := &unstructured.Unstructured{}
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &u.Object); err != nil {
			t.Fatal(err)
		}
		if u.GetKind() == "LoadTest" {
			u.SetNamespace("default")
			return u
		}
	}
	t.Fatalf("%s has no LoadTest", file)
	return nil
}

func applyAs(c client.Client, lt *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	out := lt.DeepCopy()
	return out, c.Apply(context.Background(), client.ApplyConfigurationFromUnstructured(out), client.FieldOwner(manager))
}

// lists returns the lists of an object that are in no other list, by field.
func lists(object any) map[string]any {
	out := map[string]any{}
	fields, _ := object.(map[string]any)
	for name, value := range fields {
		switch value := value.(type) {
		case []any:
			if len(value) > 0 {
				out[name] = value
			}
		case map[string]any:
			for inner, list := range lists(value) {
				out[name+"."+inner] = list
			}
		}
	}
	return out
}
