package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

const schemaFile = "../../docs/schema/loadtest.json"

// TestSchemaFile: editors use the file.
func TestSchemaFile(t *testing.T) {
	got := h2surge(t, nil, nil, "schema")
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if got.code != 0 || got.out != string(want) {
		t.Errorf("exit code %d; %s differs from what the command prints: make docs", got.code, schemaFile)
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var out bytes.Buffer
	if err := writeSchema(&out); err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, out.String())
}

// schemaOf compiles the text of a schema.
func schemaOf(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, document string) error {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestSchemaTakesSamples(t *testing.T) {
	s := compiledSchema(t)
	for _, name := range append(samples(t), "../../test/builder/full.yaml") {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range strings.Split(string(raw), "\n---\n") {
			if err := validate(t, s, document); err != nil {
				t.Errorf("%s, document %d: %v", name, i+1, err)
			}
		}
		first, _, _ := strings.Cut(string(raw), "\n")
		if filepath.Base(filepath.Dir(name)) == "samples" && first != "# yaml-language-server: $schema=../../docs/schema/loadtest.json" {
			t.Errorf("%s does not name the schema in its first line", name)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	sound := string(must(os.ReadFile("testdata/lint/sound.yaml")))
	s := compiledSchema(t)
	if err := validate(t, s, sound); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"unknown field":            {"templates: [{name: get}]", "templates: [{name: get, pth: /}]"},
		"unknown top-level field":  {"spec:", "specs: {}\nspec:"},
		"unknown field of objects": {"{name: sound}", "{name: sound, lables: {}}"},
		"wrong type":               {"requestsPerSecond: 10", `requestsPerSecond: "10"`},
		"not in the list":          {"url: http", "protocol: http3, url: http"},
		"too small":                {"requestsPerSecond: 10", "requestsPerSecond: -1"},
		"a name":                   {"{name: get}]", "{name: GET}]"},
		"required":                 {"target: target, ", ""},
		"too few":                  {"[{template: get}]", "[]"},
		"another kind":             {"kind: LoadTest", "kind: LoadTests"},
		"another version":          {"v1alpha1", "v1"},
		"the name":                 {"{name: sound}", "{name: a.b}"},
		"no spec":                  {"spec:", "status:"},
	} {
		bad := strings.Replace(sound, change[0], change[1], 1)
		if bad == sound {
			t.Errorf("%s: nothing was changed", name)
		}
		if validate(t, s, bad) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if validate(t, s, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n") == nil {
		t.Error("a ConfigMap with a number is taken")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestIntOrString(t *testing.T) {
	got := fromOpenAPI(&openAPI{IntOrString: true})
	if types, ok := got.Type.([]string); !ok || len(types) != 2 {
		t.Errorf("%+v", got)
	}
}
