package builder

import (
	_ "embed" // full.yaml
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

//go:embed full.yaml
var fullYAML []byte

// full is what Full copies.
var full = sync.OnceValue(func() map[string]any {
	var doc map[string]any
	if err := yaml.Unmarshal(fullYAML, &doc); err != nil {
		panic(err) // the file is part of this package
	}
	return doc
})

// Full is a fresh copy of a valid LoadTest in which every field occurs at least once, as generic
// JSON: only so can a field be there and empty, or of the wrong type.
func Full() map[string]any { return runtime.DeepCopyJSON(full()) }

// Mutant is a LoadTest that is wrong in one way.
type Mutant struct {
	Name string
	// Path of the field that is wrong, as error messages have it.
	Path string
	// Want is a part of the message that both the API server and the compiler give. Empty: the
	// API server has wording of its own, and the path is enough.
	Want string
	// Set and Unset say how it differs from Full: values by path, and paths that go away.
	Set   map[string]any
	Unset []string
}

// Document is the LoadTest, as generic JSON.
func (m Mutant) Document() map[string]any {
	doc := Full()
	for _, path := range m.Unset {
		parent, last := descend(doc, path)
		delete(parent.(map[string]any), last.(string))
	}
	for path, value := range m.Set {
		Put(doc, path, value)
	}
	return doc
}

// Put sets the value at a path of a document, such as spec.targets[0].url.
func Put(doc map[string]any, path string, value any) {
	parent, last := descend(doc, path)
	switch key := last.(type) {
	case string:
		parent.(map[string]any)[key] = plain(value)
	case int:
		parent.([]any)[key] = plain(value)
	}
}

// descend follows a path up to its last element.
func descend(doc map[string]any, path string) (parent, last any) {
	keys := keysOf(path)
	parent = doc
	for _, key := range keys[:len(keys)-1] {
		switch k := key.(type) {
		case string:
			parent = parent.(map[string]any)[k]
		case int:
			parent = parent.([]any)[k]
		}
		if parent == nil {
			panic(fmt.Sprintf("%s: there is no %v", path, key))
		}
	}
	return parent, keys[len(keys)-1]
}

func keysOf(path string) []any {
	var keys []any
	for _, element := range strings.Split(path, ".") {
		name, indices, _ := strings.Cut(element, "[")
		keys = append(keys, name)
		for _, index := range strings.Split(indices, "[") {
			if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil {
				keys = append(keys, i)
			}
		}
	}
	return keys
}

// plain turns a value into what decoding JSON would give.
func plain(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case int64, string, bool, nil:
		return v
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var out any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(b, &out); err != nil {
		panic(err)
	}
	return out
}
