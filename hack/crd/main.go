// Command crd shortens the descriptions in the CRDs that controller-gen wrote. Client-side kubectl apply stores a CRD in an
// annotation of 256 KiB, and fields such as those of a request occur in several places with the same description. It is
// complete at the first place, and elsewhere its first sentence with the path of the first place.
//
// It also writes the schema of LoadTests as JSON, which programs read faster than YAML, with the metadata that a CRD lacks. The compiler takes all
// defaults from it. The CRD has none inside of lists: the API server would store other items than the user applied, and server-side apply of equal
// lists conflicts, kubectl apply always patches, and Argo CD always sees a difference.
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
	"slices"
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

// write changes the file of a CRD. For that of LoadTests, it also writes the schema.
func write(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	crd, schema, err := shorten(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if filepath.Base(name) == "h2surge.io_loadtests.yaml" {
		if err := os.WriteFile(filepath.Join(filepath.Dir(name), "..", "loadtest.json"), schema, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(name, append([]byte("---\n"), crd...), 0o600)
}

// shorten returns a CRD as an API server gets it, and its schema for programs.
func shorten(raw []byte) (out, schema []byte, err error) {
	crd, err := shortened(raw)
	if err != nil {
		return nil, nil, err
	}
	if schema, err = schemaFile(crd); err != nil {
		return nil, nil, err
	}
	if crd, err = shortened(raw); err != nil {
		return nil, nil, err
	}
	for _, s := range schemas(crd) {
		removeDefaults(s, false)
	}
	out, err = yaml.Marshal(crd)
	return out, schema, err
}

func shortened(raw []byte) (crd map[string]any, err error) {
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return nil, err
	}
	for _, schema := range schemas(crd) {
		s := shortener{seen: map[string]string{}}
		s.visit(schema, "", false)
	}
	return crd, nil
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
func schemaFile(crd map[string]any) ([]byte, error) {
	var meta map[string]any
	if err := yaml.Unmarshal(metadata, &meta); err != nil {
		return nil, fmt.Errorf("metadata.yaml: %w", err)
	}
	root := schemas(crd)[0]
	root["properties"].(map[string]any)["metadata"] = meta
	out, err := json.MarshalIndent(root, "", "") // a line for each field
	return append(out, '\n'), err
}

// shortener knows the places of the descriptions that it has visited.
type shortener struct{ seen map[string]string }

// longest is the length of descriptions that are never shortened.
const longest = 100

// visit shortens the descriptions of a schema and of what it contains. Below a schema that refers to another place, no
// path is needed.
func (s *shortener) visit(node any, path string, refers bool) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	if text, _ := schema["description"].(string); len(text) > longest {
		if first, known := s.seen[text]; known {
			schema["description"] = reference(text, first, refers)
			refers = true
		} else {
			s.seen[text] = path
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		s.visit(properties[name], strings.TrimPrefix(path+"."+name, "."), refers)
	}
	s.visit(schema["items"], path, refers)
	s.visit(schema["additionalProperties"], path, refers)
}

// reference returns the first sentence of a text, and the path of the complete text unless the schema around it has one.
func reference(text, path string, refers bool) string {
	flat := strings.Join(strings.Fields(text), " ")
	if end := strings.Index(flat, ". "); end >= 0 {
		flat = flat[:end+1]
	}
	if refers {
		return flat
	}
	return flat + " See " + path + "."
}
