package schema

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// openAPI is a schema as CustomResourceDefinitions have it: what "explain" and "schema" use of it.
type openAPI struct {
	Description string      `json:"description"`
	Type        string      `json:"type"`
	Format      string      `json:"format"`
	Pattern     string      `json:"pattern"`
	Enum        []any       `json:"enum"`
	Default     any         `json:"default"`
	Minimum     json.Number `json:"minimum"`
	Maximum     json.Number `json:"maximum"`
	MinLength   *int64      `json:"minLength"`
	MaxLength   *int64      `json:"maxLength"`
	MinItems    *int64      `json:"minItems"`
	MaxItems    *int64      `json:"maxItems"`
	MinFields   *int64      `json:"minProperties"`
	MaxFields   *int64      `json:"maxProperties"`

	Required   []string            `json:"required"`
	Properties map[string]*openAPI `json:"properties"`
	// Values are those of a map, which has no Properties.
	Values *openAPI `json:"additionalProperties"`
	Items  *openAPI `json:"items"`
	// names are the names of Properties: those in Required, then the others, each in the order of the Go type.
	names []string

	// Open objects may have fields that are not in Properties.
	Open        bool `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool `json:"x-kubernetes-int-or-string"`
	// NumberOrString is of fields of a Target only.
	NumberOrString bool      `json:"x-h2surge-number-or-string"`
	Rules          []celRule `json:"x-kubernetes-validations"`
}

// celRule is a rule of an object. FieldPath is the field below the object that the message is about, such as
// ".clientSecretFrom"; empty: the object.
type celRule struct {
	Rule      string `json:"rule"`
	Message   string `json:"message"`
	FieldPath string `json:"fieldPath"`
}

// sort sets names of the schema of a Go type, and of all schemas below it.
func (s *openAPI) sort(t reflect.Type) {
	s = s.inside()
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	s.names = nil
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(cmp.Or(f.Tag.Get("json"), f.Tag.Get("yaml")), ",")
		if child := s.Properties[name]; child != nil {
			s.names = append(s.names, name)
			child.sort(f.Type)
		}
	}
	slices.SortStableFunc(s.names, func(a, b string) int { return s.rank(a) - s.rank(b) })
}

// rank is 0 of a required field, and 1 of another one.
func (s *openAPI) rank(name string) int {
	if slices.Contains(s.Required, name) {
		return 0
	}
	return 1
}

// inside is the schema that the fields of a value have: of a list, its items'.
func (s *openAPI) inside() *openAPI {
	for s.Items != nil || s.Values != nil {
		if s.Items != nil {
			s = s.Items
		} else {
			s = s.Values
		}
	}
	return s
}

// typeName is how people call the type.
func (s *openAPI) typeName() string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.NumberOrString:
		return "number or string"
	case s.Items != nil:
		return "[]" + s.Items.typeName()
	case s.Values != nil:
		return "map[string]" + s.Values.typeName()
	case s.Type == "object":
		return "Object"
	case s.Type == "":
		return "any"
	}
	return s.Type
}
