// Command crd shortens the descriptions in the CRDs that controller-gen wrote. Client-side kubectl apply stores a CRD in an
// annotation of 256 KiB, and fields such as those of a request occur in several places with the same description. It is
// complete at the first place, and elsewhere its first sentence with the path of the first place.
//
//	go run ./hack/crd config/crd/bases/*.yaml
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	for _, name := range os.Args[1:] {
		if err := shorten(name); err != nil {
			fmt.Fprintln(os.Stderr, "crd:", err)
			os.Exit(1)
		}
	}
}

func shorten(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		s := shortener{seen: map[string]string{}}
		s.visit(schema["openAPIV3Schema"], "", false)
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(name, append([]byte("---\n"), out...), 0o600)
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
