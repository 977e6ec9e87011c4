package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/api/v1alpha1"
)

const schemaLong = `Print the JSON Schema (draft-07) of manifests. With the schema, an editor completes
names, shows descriptions and marks mistakes. The first line of a manifest can name the
schema:

  # yaml-language-server: $schema=https://example.com/loadtest.json

Editors that use yaml-language-server read this line. The schema does not have the rules
between fields: use "h2surge lint" for them.`

func newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of manifests",
		Long:    schemaLong,
		Example: `  h2surge schema > loadtest.json`,
		Args:    ExactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return writeSchema(cmd.OutOrStdout()) },
	}
}

func writeSchema(w io.Writer) error {
	schema, err := manifestSchema()
	if err != nil {
		return Failf("%v", err)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(schema)
}

// jsonSchema is a JSON Schema of draft-07, the newest that all editors know.
type jsonSchema struct {
	Schema      string      `json:"$schema,omitempty"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Ref         string      `json:"$ref,omitempty"`
	Type        any         `json:"type,omitempty"`
	Const       string      `json:"const,omitempty"`
	Enum        []any       `json:"enum,omitempty"`
	Default     any         `json:"default,omitempty"`
	Minimum     json.Number `json:"minimum,omitempty"`
	Maximum     json.Number `json:"maximum,omitempty"`
	MinLength   *int64      `json:"minLength,omitempty"`
	MaxLength   *int64      `json:"maxLength,omitempty"`
	Pattern     string      `json:"pattern,omitempty"`
	MinItems    *int64      `json:"minItems,omitempty"`
	MaxItems    *int64      `json:"maxItems,omitempty"`
	MinFields   *int64      `json:"minProperties,omitempty"`
	MaxFields   *int64      `json:"maxProperties,omitempty"`

	Required   []string               `json:"required,omitempty"`
	Properties map[string]*jsonSchema `json:"properties,omitempty"`
	// Others is false, or the schema of fields that are not in Properties.
	Others any         `json:"additionalProperties,omitempty"`
	Items  *jsonSchema `json:"items,omitempty"`

	If          *jsonSchema            `json:"if,omitempty"`
	Then        *jsonSchema            `json:"then,omitempty"`
	Else        *jsonSchema            `json:"else,omitempty"`
	Definitions map[string]*jsonSchema `json:"definitions,omitempty"`
}

// manifestSchema is for each document of a manifest: a LoadTest, a ConfigMap or a Secret.
func manifestSchema() (*jsonSchema, error) {
	root, err := loadTestSchema()
	if err != nil {
		return nil, err
	}
	loadTest := fromOpenAPI(root)
	loadTest.Properties["apiVersion"] = &jsonSchema{Const: v1alpha1.GroupVersion.String(), Description: "apiVersion of LoadTests."}
	loadTest.Properties["kind"] = &jsonSchema{Const: "LoadTest", Description: "kind of the object."}
	loadTest.Properties["status"] = &jsonSchema{Type: "object", Description: "status is written by the operator."}
	return &jsonSchema{
		Schema:      "http://json-schema.org/draft-07/schema#",
		Title:       "LoadTest",
		Description: "A document of a manifest of h2surge.",
		If:          &jsonSchema{Required: []string{"kind"}, Properties: map[string]*jsonSchema{"kind": {Enum: []any{"ConfigMap", "Secret"}}}},
		Then:        &jsonSchema{Ref: "#/definitions/content"},
		Else:        &jsonSchema{Ref: "#/definitions/loadTest"},
		Definitions: map[string]*jsonSchema{"content": contentSchema(), "loadTest": loadTest},
	}, nil
}

// contentSchema is of ConfigMaps and Secrets.
func contentSchema() *jsonSchema {
	texts := &jsonSchema{Type: "object", Others: &jsonSchema{Type: "string"}}
	return &jsonSchema{
		Type: "object", Required: []string{"apiVersion", "kind", "metadata"}, Others: false,
		Properties: map[string]*jsonSchema{
			"apiVersion": {Const: "v1"}, "kind": {Enum: []any{"ConfigMap", "Secret"}},
			"metadata": {Type: "object", Required: []string{"name"}, Properties: map[string]*jsonSchema{"name": {Type: "string"}}},
			"data":     texts, "binaryData": texts, "stringData": texts,
			"type": {Type: "string"}, "immutable": {Type: "boolean"},
		},
	}
}

// fromOpenAPI leaves out what JSON Schema does not have: rules in CEL, and the ways of merging lists.
func fromOpenAPI(s *openAPI) *jsonSchema {
	out := &jsonSchema{
		Description: strings.TrimSpace(s.Description), Enum: s.Enum, Default: s.Default, Pattern: s.Pattern,
		Minimum: s.Minimum, Maximum: s.Maximum, MinLength: s.MinLength, MaxLength: s.MaxLength,
		MinItems: s.MinItems, MaxItems: s.MaxItems, MinFields: s.MinFields, MaxFields: s.MaxFields,
		Required: slices.Sorted(slices.Values(s.Required)),
	}
	switch {
	case s.IntOrString:
		out.Type = []string{"integer", "string"}
	case s.Type != "":
		out.Type = s.Type
	}
	if s.Items != nil {
		out.Items = fromOpenAPI(s.Items)
	}
	if s.Type != "object" {
		return out
	}
	switch {
	case s.Values != nil:
		out.Others = fromOpenAPI(s.Values)
	case !s.Open: // the API server prunes what it does not know, and the command line refuses it
		out.Others = false
	}
	for name, property := range s.Properties {
		if out.Properties == nil {
			out.Properties = map[string]*jsonSchema{}
		}
		out.Properties[name] = fromOpenAPI(property)
	}
	return out
}
