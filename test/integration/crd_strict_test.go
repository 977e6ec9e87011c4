package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

// TestCommandLineIsAsStrict puts odd values into every field of a LoadTest. What the command line accepts, the API server
// accepts, too, and both make the same plan of it. The API server gets only the rows that the command line accepts, a seventh.
func TestCommandLineIsAsStrict(t *testing.T) {
	c := newClient(t)
	odd := map[string]any{"null": nil, "an empty object": map[string]any{}, "an empty list": []any{}, "0": 0, "an empty text": "", "1.5": 1.5}
	var taken atomic.Int64
	t.Run("rows", func(t *testing.T) {
		for _, path := range everyField(builder.Full()) {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				rows := []builder.Mutant{}
				if !strings.HasSuffix(path, "]") {
					rows = append(rows, builder.Mutant{Name: "omitted", Unset: []string{path}})
				}
				for name, value := range odd {
					rows = append(rows, builder.Mutant{Name: name, Set: map[string]any{path: value}})
				}
				for _, row := range rows {
					taken.Add(asStrict(t, c, row))
				}
			})
		}
	})
	if taken.Load() < 20 {
		t.Errorf("only %d rows were taken by both", taken.Load())
	}
}

// asStrict returns 1 if both accept a row.
func asStrict(t *testing.T, c client.Client, row builder.Mutant) int64 {
	t.Helper()
	if len(byCommandLine(t, row.Document())) > 0 {
		return 0
	}
	stored, err := stored(t, c, row.Document())
	if err != nil {
		t.Errorf("%s: the API server says %q, the command line nothing", row.Name, err)
		return 0
	}
	samePlan(t, row.Name, row.Document(), stored)
	return 1
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
