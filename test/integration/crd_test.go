package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// crd is what make manifests generates.
func crd(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "h2surge.io_loadtests.yaml"))
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

// TestRules runs each row through the API server and through the command line.
func TestRules(t *testing.T) {
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

// TestBounds takes each bound of the CRD's spec and goes one step beyond it, in the API server and
// on the command line. The API server gets many rows in one document, because it reports all errors of a document. It gets a row
// alone if it does not blame the path of that row then: one error can hide others.
func TestBounds(t *testing.T) {
	c := newClient(t)
	g := &boundRows{seen: map[string]bool{}}
	spec := builder.Full()["spec"].(map[string]any)
	// A search excludes measured stages, so full.yaml cannot have both.
	spec["search"] = map[string]any{
		"load":  "RequestsPerSecond",
		"start": int64(10), "min": int64(1), "max": int64(100), "precision": "3%", "probeDuration": "10s", "settleDuration": "1s", "maxProbes": int64(20),
	}
	g.object(schema(t).Properties["spec"], "spec", spec)
	if len(g.rows) < 150 {
		t.Fatalf("only %d rows: the generator does not see the whole schema", len(g.rows))
	}
	blamed := blamedTogether(t, c, g.rows)
	if alone := len(g.rows) - len(blamed); alone > len(g.rows)/10 {
		t.Errorf("%d of %d rows need a request of their own", alone, len(g.rows))
	}
	for _, row := range g.rows {
		t.Run(row.Name, func(t *testing.T) {
			if !blamed[row.Name] {
				if got := byServer(t, c, row.Document()); !blames(got, row.Path) {
					t.Errorf("the API server says %q, want something about %s", got, row.Path)
				}
			}
			if got := byCommandLine(t, row.Document()); !blames(got, row.Path) {
				t.Errorf("the command line says %q, want something about %s", got, row.Path)
			}
		})
	}
	for pattern := range g.unseen(schema(t)) {
		t.Errorf("full.yaml has no %s, so its bounds are not tested", pattern)
	}
}

// blames is true when a problem is about the path: the path itself, a place in it, or a message
// that names it, as the API server does for unknown fields.
func blames(problems []problem, path string) bool {
	return slices.ContainsFunc(problems, func(p problem) bool {
		return p.path == path || strings.HasPrefix(p.path, path+"[") || strings.HasPrefix(p.path, path+".") || strings.Contains(p.message, `"`+path+`"`)
	})
}

// boundRows generates a row for each bound that it meets on a walk through schema and document.
type boundRows struct {
	rows []builder.Mutant
	seen map[string]bool // schema path and bound
}

// unseen are the properties of the schema that the walk did not meet.
func (g *boundRows) unseen(s apiextensionsv1.JSONSchemaProps) map[string]bool {
	out := map[string]bool{}
	visit(s.Properties["spec"], "spec", func(path string, s apiextensionsv1.JSONSchemaProps) {
		// Stages of a chain have the type of other stages, but must not be a closed loop.
		if !g.seen[path] && !strings.HasPrefix(path, "spec.chains[].rates[].closedLoop") {
			out[path] = true
		}
	})
	return out
}

func (g *boundRows) add(path, what string, value any) {
	key := pattern(path) + " " + what
	if g.seen[key] {
		return
	}
	g.seen[key] = true
	set := map[string]any{path: value}
	if field, ok := strings.CutPrefix(path, "spec.search."); ok { // full.yaml has no search
		set = map[string]any{"spec.search": map[string]any{field: value}}
	}
	g.rows = append(g.rows, builder.Mutant{Name: key, Path: path, Set: set})
}

func (g *boundRows) remove(path string) {
	if key := pattern(path) + " required"; !g.seen[key] {
		g.seen[key] = true
		g.rows = append(g.rows, builder.Mutant{Name: key, Path: path, Unset: []string{path}})
	}
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

func (g *boundRows) value(s apiextensionsv1.JSONSchemaProps, path string, value any) {
	g.seen[pattern(path)] = true
	switch v := value.(type) {
	case map[string]any:
		g.object(s, path, v)
	case []any:
		g.array(s, path, v)
	default:
		g.scalar(s, path, v)
	}
}

func (g *boundRows) object(s apiextensionsv1.JSONSchemaProps, path string, value map[string]any) {
	g.seen[pattern(path)] = true
	g.add(path, "type", "no object")
	if s.XPreserveUnknownFields == nil && s.AdditionalProperties == nil {
		g.add(path+".nonsense", "unknown", 1)
	}
	for _, name := range s.Required {
		g.remove(path + "." + name)
	}
	for name, property := range s.Properties {
		if v, ok := value[name]; ok {
			g.value(property, path+"."+name, v)
		}
	}
}

func (g *boundRows) array(s apiextensionsv1.JSONSchemaProps, path string, value []any) {
	g.add(path, "type", "no list")
	if s.MinItems != nil {
		g.add(path, "minItems", value[:*s.MinItems-1])
	}
	if s.MaxItems != nil {
		g.add(path, "maxItems", grown(value, int(*s.MaxItems)+1))
	}
	if s.XListType != nil && *s.XListType != "atomic" {
		g.add(path, "unique", append(slices.Clone(value), value[0]))
	}
	for i, item := range value {
		g.value(*s.Items.Schema, fmt.Sprintf("%s[%d]", path, i), item)
	}
}

// grown repeats the first entry, under other names if it has one, until there are n.
func grown(list []any, n int) []any {
	out := slices.Clone(list)
	for i := len(out); i < n; i++ {
		switch first := list[0].(type) {
		case map[string]any:
			entry := map[string]any{}
			for k, v := range first {
				entry[k] = v
			}
			if _, named := first["name"]; named {
				entry["name"] = fmt.Sprintf("n%d", i)
			}
			out = append(out, entry)
		default:
			out = append(out, first)
		}
	}
	return out
}

func (g *boundRows) scalar(s apiextensionsv1.JSONSchemaProps, path string, value any) {
	switch s.Type {
	case "string":
		g.add(path, "type", 7)
	default:
		g.add(path, "type", "text")
	}
	if s.Minimum != nil {
		g.add(path, "minimum", int64(*s.Minimum)-1)
	}
	if s.Maximum != nil {
		g.add(path, "maximum", int64(*s.Maximum)+1)
	}
	if s.MinLength != nil {
		g.add(path, "minLength", "")
	}
	if s.MaxLength != nil {
		g.add(path, "maxLength", stretched(value, int(*s.MaxLength)+1))
	}
	if s.Pattern != "" {
		g.add(path, "pattern", "~ \u00e9 ~")
	}
	if len(s.Enum) > 0 && s.Type == "string" {
		g.add(path, "enum", "nonsense")
	}
	if len(s.Enum) > 0 && s.Type == "boolean" {
		g.add(path, "enum", false)
	}
}

// stretched is a text of n characters that begins like value.
func stretched(value any, n int) string {
	text, _ := value.(string)
	if strings.HasPrefix(text, "$") {
		text = "/"
	}
	return text + strings.Repeat("1", n-len(text))
}

// TestCRDFitsIntoAnAnnotation: client-side kubectl apply keeps the whole manifest in an
// annotation, and all annotations together have 256 KiB.
func TestCRDFitsIntoAnAnnotation(t *testing.T) {
	raw, err := json.Marshal(crd(t))
	if err != nil {
		t.Fatal(err)
	}
	if const256KiB := 262144; len(raw) >= const256KiB {
		t.Errorf("the CRD has %d bytes, want less than %d", len(raw), const256KiB)
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
