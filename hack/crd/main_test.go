package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	crds "github.com/h2surge/h2surge/config/crd"
)

// TestSchemasAreThoseOfTheCRDs: the schemas for programs are those of the CRDs, apart from the length of descriptions and defaults in lists.
func TestSchemasAreThoseOfTheCRDs(t *testing.T) {
	for name, embedded := range map[string][]byte{"h2surge.io_loadtests.yaml": crds.LoadTest, "h2surge.io_loadtestschedules.yaml": crds.LoadTestSchedule} {
		raw, err := os.ReadFile("../../config/crd/bases/" + name)
		if err != nil {
			t.Fatal(err)
		}
		crd := map[string]any{}
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			t.Fatal(err)
		}
		want, err := schemaFile(crd, programs[name].metadata)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(t, want), plain(t, embedded)); diff != "" {
			t.Errorf("make manifests changes config/crd/%s (-want +got):\n%s", programs[name].file, diff)
		}
	}
}

// plain returns a schema without descriptions, and without the defaults that the CRD does not have.
func plain(t *testing.T, schema []byte) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal(schema, &out); err != nil {
		t.Fatal(err)
	}
	removeDefaults(out, false)
	visit(out, false, func(node map[string]any, _ bool) { delete(node, "description") })
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

// TestRulesDoNotNeedDefaults: a rule asks whether a field is there if it has a default and is in a list. The CRD does not have the default, and
// reading a field that is not there is an error, which refuses the object.
func TestRulesDoNotNeedDefaults(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(crds.LoadTest, &schema); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	visit(schema, false, func(node map[string]any, inList bool) {
		properties, _ := node["properties"].(map[string]any)
		for name, property := range properties {
			if property, _ := property.(map[string]any); inList && property["default"] != nil {
				names[name] = true
			}
		}
	})
	// These are in no list.
	known := map[string]bool{"self.rates": true, "self.spec.rates": true, "oldSelf.spec.rates": true}
	expression := regexp.MustCompile(`[a-zA-Z_]\w*(?:\[\w+\])?(?:\.[a-zA-Z_]\w*(?:\[\w+\])?)+`)
	rules := 0
	visit(schema, false, func(node map[string]any, _ bool) {
		list, _ := node["x-kubernetes-validations"].([]any)
		for _, entry := range list {
			rule := entry.(map[string]any)["rule"].(string)
			rules++
			for _, field := range fields(expression.FindAllString(rule, -1)) {
				if strings.HasSuffix(field, "]") {
					field = field[:strings.LastIndex(field, "[")]
				}
				name := field[strings.LastIndex(field, ".")+1:]
				if !names[name] || known[field] || strings.Contains(rule, "has("+field+")") {
					continue
				}
				if field == "self.min" && (strings.Contains(rule, "self.start") || strings.HasPrefix(rule, "duration(") || strings.HasPrefix(rule, "!has(self.max)")) {
					continue // spec.search is in no list, and min of a uniform think time is required
				}
				t.Errorf("%s is not asked for with has: %.200s", field, rule)
			}
		}
	})
	if rules < 50 || len(names) < 30 {
		t.Errorf("found %d rules and %d fields", rules, len(names))
	}
}

// fields returns the fields that expressions read: a.b.c reads a.b and a.b.c.
func fields(expressions []string) (out []string) {
	for _, e := range expressions {
		for i := range e {
			if e[i] == '.' && strings.Contains(e[:i], ".") {
				out = append(out, e[:i])
			}
		}
		out = append(out, e)
	}
	return out
}

// visit calls f for each schema in a schema.
func visit(node any, inList bool, f func(node map[string]any, inList bool)) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	f(schema, inList)
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range properties {
		visit(property, inList, f)
	}
	visit(schema["items"], true, f)
	visit(schema["additionalProperties"], inList, f)
}

func TestFirstSentences(t *testing.T) {
	text := func(s string) map[string]any { return map[string]any{"description": s} }
	schema := map[string]any{"description": "root has 1.5 parts. It has a second sentence.", "properties": map[string]any{
		"list": map[string]any{"items": text("item is a text,\nin two lines.\n\nMore.")},
		"map":  map[string]any{"additionalProperties": text("short.")},
		"none": map[string]any{"type": "string"},
	}}
	firstSentences(schema)
	want := map[string]any{"description": "root has 1.5 parts.", "properties": map[string]any{
		"list": map[string]any{"items": text("item is a text, in two lines.")},
		"map":  map[string]any{"additionalProperties": text("short.")},
		"none": map[string]any{"type": "string"},
	}}
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestRemoveRepeated(t *testing.T) {
	object := func(fields map[string]any) map[string]any { return map[string]any{"properties": fields} }
	text := func(s string) map[string]any { return map[string]any{"description": s} }
	schema := object(map[string]any{
		"name": text("of the template"), "path": text("the path"),
		"list": map[string]any{"items": object(map[string]any{"a": text("a"), "b": text("another")})},
	})
	removeRepeated(schema, object(map[string]any{
		"path": text("the path"),
		"list": map[string]any{"items": object(map[string]any{"a": text("a"), "b": text("b")})},
	}))
	want := object(map[string]any{
		"name": text("of the template"), "path": map[string]any{},
		"list": map[string]any{"items": object(map[string]any{"a": map[string]any{}, "b": text("another")})},
	})
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}
