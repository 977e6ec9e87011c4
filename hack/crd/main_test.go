package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	loadtests "github.com/h2surge/h2surge/config/crd"
)

func TestSchemaIsThatOfTheCRD(t *testing.T) {
	raw, err := os.ReadFile("../../config/crd/bases/h2surge.io_loadtests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	want, err := schemaFile(crd)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(withoutDefaults(t, want), withoutDefaults(t, loadtests.LoadTest)); diff != "" {
		t.Errorf("make manifests changes config/crd/loadtest.json (-want +got):\n%s", diff)
	}
}

// withoutDefaults returns a schema as the CRD has it.
func withoutDefaults(t *testing.T, schema []byte) (out map[string]any) {
	if err := json.Unmarshal(schema, &out); err != nil {
		t.Fatal(err)
	}
	removeDefaults(out, false)
	return out
}

func TestRemoveDefaults(t *testing.T) {
	object := func() map[string]any {
		return map[string]any{"default": map[string]any{}, "properties": map[string]any{"a": map[string]any{"default": 1}}}
	}
	schema := map[string]any{"properties": map[string]any{"one": object(), "many": map[string]any{"default": []any{}, "items": object()}}}
	removeDefaults(schema, false)
	want := map[string]any{"properties": map[string]any{"one": object(), "many": map[string]any{
		"default": []any{}, "items": map[string]any{"properties": map[string]any{"a": map[string]any{}}},
	}}}
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShortener(t *testing.T) {
	const long = "a is a text. It has a second sentence,\nwhich makes it longer than the longest text that stays where it is used again."
	leaf := func() any { return map[string]any{"description": long} }
	object := func() any {
		return map[string]any{"description": "object: " + long, "properties": map[string]any{"a": leaf(), "b": map[string]any{"description": "short."}}}
	}
	schema := map[string]any{"properties": map[string]any{
		"first":  map[string]any{"items": object()},
		"second": object(),
		"third":  leaf(),
	}}
	s := shortener{seen: map[string]string{}}
	s.visit(schema, "", false)
	want := map[string]any{"properties": map[string]any{
		"first": map[string]any{"items": object()},
		"second": map[string]any{"description": "object: a is a text. See first.", "properties": map[string]any{
			"a": map[string]any{"description": "a is a text."}, "b": map[string]any{"description": "short."},
		}},
		"third": map[string]any{"description": "a is a text. See first.a."},
	}}
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}
