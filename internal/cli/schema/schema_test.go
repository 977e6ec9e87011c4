package schema

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

// compiledSchema compiles the schema of some kinds.
func compiledSchema(t *testing.T, of ...*kind) *jsonschema.Schema {
	t.Helper()
	var out bytes.Buffer
	if err := writeSchema(&out, of...); err != nil {
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
	s, every := compiledSchema(t, kinds[0]), compiledSchema(t, kinds...)
	samples := must(filepath.Glob("../../../config/samples/*.yaml"))
	samples = slices.DeleteFunc(samples, func(name string) bool { return filepath.Base(name) == "kustomization.yaml" })
	for _, name := range append(samples, "../../../test/builder/full.yaml") {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, document := range strings.Split(string(raw), "\n---\n") {
			if err := errors.Join(validate(t, s, document), validate(t, every, document)); err != nil {
				t.Errorf("%s, document %d: %v", name, i+1, err)
			}
		}
		first, _, _ := strings.Cut(string(raw), "\n")
		if filepath.Base(filepath.Dir(name)) == "samples" && first != "# yaml-language-server: $schema=../../docs/reference/schema/loadtest.json" {
			t.Errorf("%s does not name the schema in its first line", name)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	sound := string(must(os.ReadFile("../testdata/lint/sound.yaml")))
	s := compiledSchema(t, kinds[0])
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
	every := compiledSchema(t, kinds...)
	if validate(t, every, sound) != nil || validate(t, every, strings.Replace(sound, "{name: sound}", "{name: sound, lables: {}}", 1)) == nil {
		t.Error("the schema of all kinds takes other LoadTests than that of LoadTests")
	}
	if validate(t, s, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n") == nil {
		t.Error("a ConfigMap with a number is taken")
	}
}

// TestSchemaOfSchedules: a template is compared as a LoadTest.
func TestSchemaOfSchedules(t *testing.T) {
	const schedule = `apiVersion: h2surge.io/v1alpha1
kind: LoadTestSchedule
metadata: {name: hourly}
spec:
  schedule: "@hourly"
  template:
    spec:
      targets: [{name: target, url: http://target.example}]
      chains: [{name: gets, target: target, steps: [{name: get, request: {}}]}]
      rates: [{name: steady, requestsPerSecond: 10, duration: 1s}]
`
	refusedBy(t, schedule, kindOf("LoadTestSchedule"), map[string][2]string{
		"no schedule":             {"  schedule: \"@hourly\"\n", ""},
		"a policy":                {"  template:", "  concurrencyPolicy: Never\n  template:"},
		"a limit":                 {"  template:", "  historyLimits: {passed: -1}\n  template:"},
		"a field of the template": {"requestsPerSecond", "requestPerSecond"},
		"a long name":             {"{name: hourly}", "{name: " + strings.Repeat("a", 42) + "}"},
		"another kind":            {"kind: LoadTestSchedule", "kind: LoadTest"},
	})
}

// TestSchemaOfTargets: the samples are taken, and what the target would refuse is refused.
func TestSchemaOfTargets(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/targets/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	one, every := compiledSchema(t, kindOf(rules.Kind)), compiledSchema(t, kinds...)
	for _, name := range files {
		document := string(must(os.ReadFile(name)))
		if first, _, _ := strings.Cut(document, "\n"); first != "# yaml-language-server: $schema=../../../docs/reference/schema/target.json" {
			t.Errorf("%s does not name the schema in its first line", name)
		}
		if err := errors.Join(validate(t, one, document), validate(t, every, document)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const file = `apiVersion: h2surge.io/v1alpha1
kind: Target
rules:
  - name: create
    match: {method: POST, path: /a}
    resource: {collection: a, action: create}
    responses: [{weight: 1, unanswered: 3%, reset: 0.1, delay: {fixed: 5ms}}]
`
	refusedBy(t, file, kindOf(rules.Kind), map[string][2]string{
		"no name":            {"- name: create\n    match", "- match"},
		"an unknown field":   {"weight: 1", "wieght: 1"},
		"an unknown action":  {"action: create", "action: make"},
		"a status in quotes": {"weight: 1", `status: "201"`},
		"a share of a list":  {"3%", "[3%]"},
		"another kind":       {"kind: Target", "kind: Targets"},
	})
}

// refusedBy checks that the schema of a kind, and that of all kinds, take a document and refuse it after each of the changes.
func refusedBy(t *testing.T, sound string, k *kind, changes map[string][2]string) {
	t.Helper()
	for _, s := range []*jsonschema.Schema{compiledSchema(t, k), compiledSchema(t, kinds...)} {
		if err := validate(t, s, sound); err != nil {
			t.Error(err)
		}
		for name, change := range changes {
			bad := strings.Replace(sound, change[0], change[1], 1)
			if bad == sound || validate(t, s, bad) == nil {
				t.Errorf("%s is taken", name)
			}
		}
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
