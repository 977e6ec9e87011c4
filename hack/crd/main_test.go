package main

import (
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
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	want, err := schemaFile(crd)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(loadtests.LoadTest)); diff != "" {
		t.Errorf("make manifests changes config/crd/loadtest.json (-want +got):\n%s", diff)
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
