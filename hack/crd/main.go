// Command crd shortens the descriptions in the CRDs that controller-gen wrote to their first sentences, because
// client-side kubectl apply stores a CRD in an annotation of 256 KiB.
//
// It also writes the schemas of LoadTests and LoadTestSchedules as JSON, which programs read faster than YAML, with
// complete descriptions and the metadata that a CRD lacks. That of a LoadTestSchedule leaves out the spec of its
// template, which is that of a LoadTest. The compiler takes all defaults from the schema. The CRD has none inside of
// lists: the API server would store other items than the user applied, and server-side apply of equal lists conflicts,
// kubectl apply always patches, and Argo CD always sees a difference.
//
//	go run ./hack/crd config/crd/bases/*.yaml
package main

import (
	_ "embed" // metadata.yaml
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed metadata.yaml
var metadata []byte

func main() {
	for _, name := range os.Args[1:] {
		if err := write(name); err != nil {
			fmt.Fprintln(os.Stderr, "crd:", err)
			os.Exit(1)
		}
	}
}

// programs are the CRDs whose schemas programs read, with the file of the schema and what stands for placeholders in
// metadata.yaml.
var programs = map[string]struct {
	file     string
	metadata *strings.Replacer
}{
	"h2surge.io_loadtests.yaml": {"loadtest.json", strings.NewReplacer(
		"{kind}", "LoadTest", "{most}", "50", "{named}", "Runner pods are", "{mostPrefix}", "45")},
	"h2surge.io_loadtestschedules.yaml": {"loadtestschedule.json", strings.NewReplacer(
		"{kind}", "LoadTestSchedule", "{most}", "41", "{named}", "LoadTests are", "{mostPrefix}", "36")},
}

// write changes the file of a CRD, and writes its schema if programs read it.
func write(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p, read := programs[filepath.Base(name)]
	if read {
		schema, err := schemaFile(crd, p.metadata)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(name), "..", p.file), schema, 0o600); err != nil {
			return err
		}
	}
	shorten(crd)
	if read {
		root := schemas(crd)[0]
		root["description"] = root["description"].(string) +
			" h2surge explain and docs/reference/api.md have the complete descriptions of the fields."
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(name, append([]byte("---\n"), out...), 0o600)
}

// shorten makes a CRD what an API server gets.
func shorten(crd map[string]any) {
	for _, schema := range schemas(crd) {
		firstSentences(schema)
		removeDefaults(schema, false)
		spec := below(schema, "spec")
		if test := below(spec, "template", "spec"); test != nil { // of a LoadTestSchedule
			spec = test
		}
		step := below(spec, "chains", items, "steps", items)
		for _, like := range []map[string]any{below(spec, "templates", items), below(step, "await")} {
			removeRepeated(like, below(step, "request"))
		}
	}
}

// removeRepeated removes the descriptions that the same field of another schema has, too. A template has the fields of
// the request of a step, which are a tenth of the schema, and what a step awaits has its captures and checks.
func removeRepeated(schema, other map[string]any) {
	fields, _ := schema["properties"].(map[string]any)
	for name := range fields {
		field, like := below(schema, name), below(other, name)
		if like != nil && field["description"] == like["description"] {
			delete(field, "description")
		}
		removeRepeated(field, like)
		if field["items"] != nil {
			removeRepeated(below(field, items), below(like, items))
		}
	}
}

// removeDefaults removes the defaults of a schema that is inside of a list, and of what it contains.
func removeDefaults(node any, inList bool) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	if inList {
		delete(schema, "default")
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range properties {
		removeDefaults(property, inList)
	}
	removeDefaults(schema["items"], true)
	removeDefaults(schema["additionalProperties"], inList)
}

// schemas returns the schema of each version.
func schemas(crd map[string]any) (out []map[string]any) {
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		root, _ := schema["openAPIV3Schema"].(map[string]any)
		out = append(out, root)
	}
	return out
}

// schemaFile returns the schema of a CRD's first version, with that of the metadata.
func schemaFile(crd map[string]any, placeholders *strings.Replacer) ([]byte, error) {
	var meta map[string]any
	if err := yaml.Unmarshal([]byte(placeholders.Replace(string(metadata))), &meta); err != nil {
		return nil, fmt.Errorf("metadata.yaml: %w", err)
	}
	root := with(schemas(crd)[0], func(any) any { return meta }, "metadata")
	if below(root, "spec", "template", "spec") != nil {
		root = with(root, withoutFields, "spec", "template", "spec")
	}
	out, err := json.MarshalIndent(root, "", "") // a line for each field
	return append(out, '\n'), err
}

// withoutFields returns the schema of an object without the schemas of its fields.
func withoutFields(schema any) any {
	return map[string]any{"description": schema.(map[string]any)["description"], "type": "object",
		"x-kubernetes-preserve-unknown-fields": true}
}

// items stands for the elements of a list in the path of a field.
const items = "items"

// below returns the schema of a field; nil: there is none.
func below(schema map[string]any, path ...string) map[string]any {
	for _, name := range path {
		if name == items {
			schema, _ = schema[items].(map[string]any)
			continue
		}
		properties, _ := schema["properties"].(map[string]any)
		schema, _ = properties[name].(map[string]any)
	}
	return schema
}

// with returns a copy of a schema in which the schema of a field is another one.
func with(schema map[string]any, change func(any) any, path ...string) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	schema, properties = maps.Clone(schema), maps.Clone(properties)
	if len(path) == 1 {
		properties[path[0]] = change(properties[path[0]])
	} else {
		properties[path[0]] = with(below(schema, path[0]), change, path[1:]...)
	}
	schema["properties"] = properties
	return schema
}

// firstSentences leaves the first sentence of each description in a schema.
func firstSentences(node any) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	if text, ok := schema["description"].(string); ok {
		schema["description"] = firstSentence(text)
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range properties {
		firstSentences(property)
	}
	firstSentences(schema["items"])
	firstSentences(schema["additionalProperties"])
}

// firstSentence returns the first sentence of a text in one line.
func firstSentence(text string) string {
	flat := strings.Join(strings.Fields(text), " ")
	if end := strings.Index(flat, ". "); end >= 0 {
		flat = flat[:end+1]
	}
	return flat
}
