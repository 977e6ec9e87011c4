package integration

import (
	"context"
	"encoding/json"
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

// valued are optional fields, most of them with a default.
var valued = []string{
	"spec.seed", "spec.lock", "spec.weightBy", "spec.gracefulStop", "spec.search", "spec.runner", "spec.targets[0].maxConcurrentStreams",
	"spec.targets[0].connectTimeout", "spec.targets[0].auth.oauth2.secretIn", "spec.targets[0].sbi.maxRspTime", "spec.targets[1].http2", "spec.targets[1].connecting",
	"spec.templates[0].timeout", "spec.templates[0].operation", "spec.templates[0].headers[1].whenEmpty", "spec.listeners[0].response", "spec.listeners[0].retention",
	"spec.listeners[0].maxBodyBytes", "spec.rates[1].rampFrom", "spec.rates[0].warmUp",
}

func all(paths []string, value any) map[string]any {
	out := map[string]any{}
	for _, path := range paths {
		out[path] = value
	}
	return out
}

// TestSameValues: null, empty and absent values, and their defaults, mean the same to the API server and to the command line.
func TestSameValues(t *testing.T) {
	c := newClient(t)
	for _, row := range []builder.Mutant{
		{Name: "null", Set: all(valued, nil)},
		{Name: "absent", Unset: slices.DeleteFunc(slices.Clone(valued), func(path string) bool { return path == "spec.search" })},
		{Name: "empty objects", Set: all([]string{"spec.runner", "spec.targets[1].http2", "spec.targets[1].connecting", "spec.listeners[0].response"}, map[string]any{})},
		{Name: "empty lists", Set: all([]string{"spec.thresholds", "spec.targets[0].auth.oauth2.scopes", "spec.listeners[0].response.headers"}, []any{})},
		{Name: "null in maps", Set: map[string]any{"metadata.labels": map[string]any{"a": nil, "b": "c"}, "metadata.annotations": nil}},
		{Name: "zero", Set: all([]string{"spec.seed", "spec.rates[1].rampFrom", "spec.targets[1].http2.headerTableSize"}, 0)},
		{Name: "false", Set: all([]string{"spec.stop", "spec.suspend", "spec.rates[1].warmUp"}, false)},
		{Name: "empty text", Set: all([]string{"spec.templates[0].body", "spec.listeners[0].response.body"}, "")},
	} {
		t.Run(row.Name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: row.Document()}
			if err := c.Create(context.Background(), u, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Fatal(err)
			}
			stored := &v1alpha1.LoadTest{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, stored); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(row.Document())
			if err != nil {
				t.Fatal(err)
			}
			m, err := compile.Load(strings.NewReader(string(raw)))
			if err != nil {
				t.Fatal(err)
			}
			if hash(t, m.Name(), &m.LoadTest.Spec) != hash(t, stored.Namespace+"/"+stored.Name, &stored.Spec) {
				t.Error("the API server's defaults lead to another plan")
			}
		})
	}
}

// TestSameRefusals: what the API server checks outside of the library that TestBoundsOfTheLibrary compares with, the command line refuses,
// too, and at the same place.
func TestSameRefusals(t *testing.T) {
	c := newClient(t)
	for path, value := range map[string]any{
		"spec.nonsense":                                nil,
		"spec.targets[0].nonsense":                     1,
		"spec.listeners[0].response.nonsense":          map[string]any{},
		"metadata.nonsense":                            "a",
		"spec.targets":                                 nil,
		"spec.targets[0].name":                         nil,
		"spec.chains[0].steps[0]":                      nil,
		"spec.targets[0].clientAssertion.audience":     []any{"PCF", nil},
		"spec.targets[0].auth.oauth2.scopes":           []any{"a", "b", "a"},
		"spec.templates[0].expect.status":              []any{201, "2xx", 201},
		"spec.templates[1]":                            map[string]any{"name": "create"},
		"spec.variables[1]":                            map[string]any{"name": "ue", "list": map[string]any{"values": []any{"a"}}},
		"spec.templates[0].expect.status[0]":           1.5,
		"spec.thresholds[0].max":                       true,
		"spec.runner.resources.limits":                 map[string]any{"memory": 0.5},
		"spec.runner.shards":                           "2",
		"spec.runner.resources.requests":               []any{},
		"spec.templates[0].headers":                    map[string]any{},
		"spec.targets[0].connections":                  0,
		"spec.templates[0].name":                       "",
		"spec.targets[0].auth.oauth2.clientSecretFrom": map[string]any{},
		"spec.rates[1].duration":                       "1",
		"spec.rates[1].requestsPerSecond":              1e20,
		"spec.variables[0].range.start":                "0",
		"spec.listeners[0].tls.clientNames":            []any{"a", "a"},
		"spec.listeners[0].token.keysFrom":             map[string]any{"file": "a", "secretKeyRef": map[string]any{"name": "a", "key": "b"}},
		"spec.runner.podTemplate":                      "a",
	} {
		t.Run(path, func(t *testing.T) {
			row := builder.Mutant{Set: map[string]any{path: value}}
			if got := byServer(t, c, row.Document()); !blames(got, path) {
				t.Errorf("the API server says %q", got)
			}
			if got := byCommandLine(t, row.Document()); !blames(got, path) {
				t.Errorf("the command line says %q", got)
			}
		})
	}
}
