// Package schema has the commands that describe manifests: schema prints the JSON Schema, explain prints a field.
package schema

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/mock/rules"
)

// schemaURL is where the files of docs/reference/schema are.
const schemaURL = "https://raw.githubusercontent.com/h2surge/h2surge/main/docs/reference/schema/"

const schemaLong = `Print the JSON Schema (draft-07) of manifests. With the schema, an editor completes
names, shows descriptions and marks mistakes. Without KIND, the schema is for files with
objects of all kinds. KIND is LoadTest, LoadTestSchedule or Target (a file of h2surge
target).

The first line of a manifest can name the schema:

  # yaml-language-server: $schema=` + schemaURL + `manifest.json

Editors that use yaml-language-server read this line. Without a network, save the schema
and name its file: $schema=manifest.json. The schema does not have the rules between
fields: use "h2surge lint" for them.`

// NewCommand returns the command schema.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of manifests",
		Long:  schemaLong,
		Example: `  h2surge schema > manifest.json
  h2surge schema Target > target.json`,
		Args: command.ExactArgs("[KIND]"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return command.WithPrefix(kindNames(), start), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of := kinds
			for _, name := range args {
				k := kindOf(name)
				if k == nil {
					return command.Usagef("KIND: %q is not known; allowed: %s", name, strings.Join(kindNames(), ", "))
				}
				of = []*kind{k}
			}
			return writeSchema(cmd.OutOrStdout(), of...)
		},
	}
}

func writeSchema(w io.Writer, of ...*kind) error {
	schema, err := manifestSchema(of)
	if err != nil {
		return command.Failf("%v", err)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(schema)
}

// jsonSchema is a JSON Schema of draft-07, the newest that all editors know.
type jsonSchema struct {
	Schema      string      `json:"$schema,omitempty"`
	ID          string      `json:"$id,omitempty"`
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

// manifestSchema is for each document of a manifest: an object of one of the kinds, a ConfigMap or a Secret. A document
// of another kind is compared with the first of the kinds.
func manifestSchema(of []*kind) (*jsonSchema, error) {
	out := &jsonSchema{
		Schema: "http://json-schema.org/draft-07/schema#", ID: schemaURL + "manifest.json", Title: "Manifest",
		Description: "A document of a manifest of h2surge.",
		Definitions: map[string]*jsonSchema{},
	}
	if len(of) == 1 {
		out.ID, out.Title = schemaURL+strings.ToLower(of[0].name)+".json", of[0].name
	}
	var choice *jsonSchema
	for _, k := range of {
		object, err := out.define(k)
		if err != nil {
			return nil, err
		}
		choice = choice.orElse(object, k.name)
	}
	if of[0].name == rules.Kind { // the file of a target has one document
		object := *out.Definitions["target"]
		object.Schema, object.ID, object.Title = out.Schema, out.ID, out.Title
		return &object, nil
	}
	out.Definitions["content"] = contentSchema()
	choice = choice.orElse(&jsonSchema{Ref: "#/definitions/content"}, "ConfigMap", "Secret")
	out.If, out.Then, out.Else = choice.If, choice.Then, choice.Else
	return out, nil
}

// orElse returns the schema of documents that have another schema if they are of some kinds, and else the first schema.
// If the first schema is nil, all documents have the other one.
func (s *jsonSchema) orElse(other *jsonSchema, kinds ...any) *jsonSchema {
	if s == nil {
		return other
	}
	is := &jsonSchema{Required: []string{"kind"}, Properties: map[string]*jsonSchema{"kind": {Enum: kinds}}}
	return &jsonSchema{If: is, Then: other, Else: s}
}

// define adds the schema of a kind to the definitions, and returns a reference to it. The spec of a LoadTest is a
// definition of its own, because the template of a LoadTestSchedule has it, too.
func (s *jsonSchema) define(k *kind) (*jsonSchema, error) {
	root, err := k.schema()
	if err != nil {
		return nil, err
	}
	object := fromOpenAPI(root)
	object.Properties["apiVersion"] = &jsonSchema{Const: v1alpha1.GroupVersion.String(), Description: "apiVersion of " +
		k.name + "s."}
	object.Properties["kind"] = &jsonSchema{Const: k.name, Description: "kind of the object."}
	if object.Properties["status"] != nil {
		object.Properties["status"] = &jsonSchema{Type: "object", Description: "status is written by the operator."}
	}
	if holder := object.holderOfSpec(k); holder != nil {
		s.Definitions["spec"] = holder.Properties["spec"]
		holder.Properties["spec"] = &jsonSchema{Ref: "#/definitions/spec"}
	}
	name := strings.ToLower(k.name[:1]) + k.name[1:]
	s.Definitions[name] = object
	return &jsonSchema{Ref: "#/definitions/" + name}, nil
}

// holderOfSpec returns the object whose field spec is the spec of a LoadTest; nil: there is none.
func (s *jsonSchema) holderOfSpec(k *kind) *jsonSchema {
	switch k.name {
	case "LoadTest":
		return s
	case "LoadTestSchedule":
		return s.Properties["spec"].Properties["template"]
	}
	return nil
}

// contentSchema is of ConfigMaps and Secrets.
func contentSchema() *jsonSchema {
	texts := &jsonSchema{Type: "object", Others: &jsonSchema{Type: "string"}}
	return &jsonSchema{
		Type: "object", Required: []string{"apiVersion", "kind", "metadata"}, Others: false,
		Properties: map[string]*jsonSchema{
			"apiVersion": {Const: "v1"}, "kind": {Enum: []any{"ConfigMap", "Secret"}},
			"metadata": {Type: "object", Required: []string{"name"},
				Properties: map[string]*jsonSchema{"name": {Type: "string"}}},
			"data": texts, "binaryData": texts, "stringData": texts,
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
	case s.NumberOrString:
		out.Type = []string{"number", "string"}
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
