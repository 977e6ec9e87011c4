package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/test/builder"
)

// everyField lists one place of each field and list entry of a document, in order.
func everyField(doc map[string]any) (out []string) {
	paths := everyPath(doc["spec"], "spec")
	slices.Sort(paths)
	seen := map[string]bool{}
	for _, path := range paths {
		if !seen[pattern(path)] {
			seen[pattern(path)] = true
			out = append(out, path)
		}
	}
	return out
}

// everyPath lists all places below v, in no order.
func everyPath(v any, path string) (out []string) {
	switch x := v.(type) {
	case map[string]any:
		for k, child := range x {
			out = append(append(out, path+"."+k), everyPath(child, path+"."+k)...)
		}
	case []any:
		for i, child := range x {
			at := fmt.Sprintf("%s[%d]", path, i)
			out = append(append(out, at), everyPath(child, at)...)
		}
	}
	return out
}

// TestCommandLineIsAsStrict puts odd values into every field of a LoadTest. What the API server
// refuses the command line refuses; what both take is the same plan.
func TestCommandLineIsAsStrict(t *testing.T) {
	c := newClient(t)
	odd := map[string]any{"null": nil, "an empty object": map[string]any{}, "an empty list": []any{}, "0": 0, "an empty text": "", "1.5": 1.5}
	taken := 0
	for _, path := range everyField(builder.Full()) {
		rows := []builder.Mutant{}
		if !strings.HasSuffix(path, "]") {
			rows = append(rows, builder.Mutant{Name: "omitted", Unset: []string{path}})
		}
		for name, value := range odd {
			rows = append(rows, builder.Mutant{Name: name, Set: map[string]any{path: value}})
		}
		for _, row := range rows {
			stored, refused := stored(t, c, row.Document())
			said := byCommandLine(t, row.Document())
			switch {
			case refused != nil && len(said) == 0:
				t.Errorf("%s %s: the API server says %q, the command line nothing", path, row.Name, refused)
			case refused == nil && len(said) == 0:
				taken++
				samePlan(t, path+" "+row.Name, row.Document(), stored)
			}
		}
	}
	if taken < 20 {
		t.Errorf("only %d rows were taken by both", taken)
	}
}

// stored is what the API server would store, or what it has against that.
func stored(t *testing.T, c client.Client, doc map[string]any) (*v1alpha1.LoadTest, error) {
	t.Helper()
	u := &unstructured.Unstructured{Object: doc}
	if err := c.Create(context.Background(), u, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
		return nil, err
	}
	lt := &v1alpha1.LoadTest{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, lt); err != nil {
		t.Fatal(err)
	}
	return lt, nil
}

func samePlan(t *testing.T, what string, doc map[string]any, stored *v1alpha1.LoadTest) {
	t.Helper()
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	m, err := compile.Load(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if hash(t, m.Name(), &m.LoadTest.Spec) != hash(t, stored.Namespace+"/"+stored.Name, &stored.Spec) {
		t.Errorf("%s: the API server's defaults lead to another plan", what)
	}
}
