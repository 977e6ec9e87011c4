package integration

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// crd is the CRD of LoadTests that make manifests generates.
func crd(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return crdOf(t, "loadtests")
}

func crdOf(t *testing.T, plural string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "h2surge.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func schema(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return *crd(t).Spec.Versions[0].Schema.OpenAPIV3Schema
}

// problem is one thing that somebody has against a document.
type problem struct{ path, message string }

// byServer asks the API server, with strict field validation as kubectl does, and stores nothing.
func byServer(t *testing.T, c client.Client, doc map[string]any) []problem {
	t.Helper()
	err := c.Create(context.Background(), &unstructured.Unstructured{Object: doc}, client.DryRunAll, client.FieldValidation("Strict"))
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &status) || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		t.Fatalf("the API server: %v", err)
	case status.Status().Details == nil || len(status.Status().Details.Causes) == 0:
		return []problem{{"", err.Error()}}
	}
	var out []problem
	for _, cause := range status.Status().Details.Causes {
		out = append(out, problem{cause.Field, cause.Message})
	}
	return out
}

// byCommandLine loads and compiles as "h2surge run -f" does.
func byCommandLine(t *testing.T, doc map[string]any) []problem {
	t.Helper()
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	m, err := compile.Load(strings.NewReader(string(raw)))
	var broken *compile.ManifestError
	if err != nil && !errors.As(err, &broken) {
		t.Fatalf("loading: %v", err)
	}
	var out []problem
	if broken != nil {
		for _, e := range broken.Errors {
			out = append(out, problem{e.Field, e.Detail})
		}
		return out
	}
	_, _, errs := compile.Compile(m.Name(), &m.LoadTest.Spec)
	for _, e := range errs {
		out = append(out, problem{e.Field, e.Detail})
	}
	return out
}

func TestFullIsValid(t *testing.T) {
	c := newClient(t)
	if got := byServer(t, c, builder.Full()); got != nil {
		t.Errorf("the API server refuses it: %v", got)
	}
	if got := byCommandLine(t, builder.Full()); got != nil {
		t.Errorf("the command line refuses it: %v", got)
	}
}

// TestRulesOfTheAPI runs each row through the API server and through the command line.
func TestRulesOfTheAPI(t *testing.T) {
	c := newClient(t)
	for _, row := range builder.Rules() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel() // they store nothing
			if got := byServer(t, c, row.Document()); !slices.ContainsFunc(got, func(p problem) bool { return strings.Contains(p.message, row.Want) }) {
				t.Errorf("the API server says %q, want %q", got, row.Want)
			}
			if got := byCommandLine(t, row.Document()); !slices.ContainsFunc(got, func(p problem) bool {
				return p.path == row.Path && strings.Contains(p.message, row.Want)
			}) {
				t.Errorf("the command line says %q, want %q at %s", got, row.Want, row.Path)
			}
		})
	}
}

// TestEachRuleHasARow finds a rule that nobody tests. A row is of the rule at its own path or above it.
func TestEachRuleHasARow(t *testing.T) {
	visit(schema(t), "", func(path string, s apiextensionsv1.JSONSchemaProps) {
		for _, rule := range s.XValidations {
			isOfRule := func(row builder.Mutant) bool {
				return strings.HasPrefix(pattern(row.Path), path) && strings.Contains(rule.Message, row.Want)
			}
			if !slices.Contains(frozenMessages(), rule.Message) && !slices.ContainsFunc(builder.Rules(), isOfRule) {
				t.Errorf("%s: no row for the rule with the message %q", path, rule.Message)
			}
		}
	})
}

// visit calls f for a schema and all below it.
func visit(s apiextensionsv1.JSONSchemaProps, path string, f func(path string, s apiextensionsv1.JSONSchemaProps)) {
	f(path, s)
	for name, property := range s.Properties {
		visit(property, strings.TrimPrefix(path+"."+name, "."), f)
	}
	if s.Items != nil {
		visit(*s.Items.Schema, path+"[]", f)
	}
}

// blames is true when a problem is about the path: the path itself, a place in it, or a message
// that names it, as the API server does for unknown fields.
func blames(problems []problem, path string) bool {
	return slices.ContainsFunc(problems, func(p problem) bool {
		return p.path == path || strings.HasPrefix(p.path, path+"[") || strings.HasPrefix(p.path, path+".") || strings.Contains(p.message, `"`+path+`"`)
	})
}

// pattern is a path without its indices.
func pattern(path string) string {
	var out strings.Builder
	inside := false
	for _, r := range path {
		inside = inside && r != ']'
		if !inside {
			out.WriteRune(r)
		}
		inside = inside || r == '['
	}
	return out.String()
}

// TestCRDsHaveRoom: client-side kubectl apply keeps the whole manifest in an annotation, and all annotations together have 256 KiB. A fifth of that
// stays free for what the next versions add.
func TestCRDsHaveRoom(t *testing.T) {
	const most = 262144 * 8 / 10
	for _, plural := range []string{"loadtests", "loadtestschedules"} {
		raw, err := json.Marshal(crdOf(t, plural))
		if err != nil {
			t.Fatal(err)
		}
		if t.Logf("%s: %d bytes", plural, len(raw)); len(raw) > most {
			t.Errorf("the CRD of %s has %d bytes, want at most %d", plural, len(raw), most)
		}
	}
}

// TestPrinterColumns keeps the columns of "kubectl get -o wide"; without it, Reason and Message are not shown.
func TestPrinterColumns(t *testing.T) {
	var got []string
	for _, column := range crd(t).Spec.Versions[0].AdditionalPrinterColumns {
		got = append(got, column.Name)
	}
	want := []string{"Phase", "Shards", "Rate", "P50", "P99", "Errors", "Passed", "Reason", "Message", "Age"}
	if !slices.Equal(got, want) {
		t.Errorf("columns are %v, want %v", got, want)
	}
	names := crd(t).Spec.Names
	if !slices.Equal(names.ShortNames, []string{"lt"}) || !slices.Equal(names.Categories, []string{"h2surge"}) {
		t.Errorf("short names %v, categories %v", names.ShortNames, names.Categories)
	}
}

// create stores a document and deletes it when the test is over.
func create(t *testing.T, c client.Client, doc map[string]any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: doc}
	if err := c.Create(context.Background(), u, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), u); err != nil {
			t.Error(err)
		}
	})
	return u
}
