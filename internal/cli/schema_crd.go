package cli

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/config/crd"
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

	// Open objects may have fields that are not in Properties.
	Open        bool `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool `json:"x-kubernetes-int-or-string"`
	Rules       []struct {
		Rule    string `json:"rule"`
		Message string `json:"message"`
	} `json:"x-kubernetes-validations"`
}

// loadTestSchema is that of a whole LoadTest.
func loadTestSchema() (root *openAPI, apiVersion string, err error) {
	var definition struct {
		Spec struct {
			Group    string
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema *openAPI }
			}
		}
	}
	if err := yaml.Unmarshal(crd.LoadTests, &definition); err != nil {
		return nil, "", fmt.Errorf("the built-in CRD: %w", err)
	}
	version := definition.Spec.Versions[0]
	root = version.Schema.OpenAPIV3Schema
	root.Properties["metadata"] = metadataSchema()
	root.Required = append(root.Required, "apiVersion", "kind", "metadata")
	return root, definition.Spec.Group + "/" + version.Name, nil
}

// metadataSchema describes what the CRD leaves to the API server.
func metadataSchema() *openAPI {
	text := func(description string) *openAPI { return &openAPI{Type: "string", Description: description} }
	texts := func(description string) *openAPI {
		return &openAPI{Type: "object", Description: description, Values: &openAPI{Type: "string"}}
	}
	most := int64(50)
	own := "Set by the API server."
	return &openAPI{
		Type:        "object",
		Description: "metadata is the name of the LoadTest and what Kubernetes keeps about it.",
		Properties: map[string]*openAPI{
			"name": {
				Type: "string", Pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", MaxLength: &most,
				Description: "name of the LoadTest: lower-case letters, digits and -, at most 50 characters. Runner pods are named after it. Either name or generateName is required.",
			},
			"namespace":                  text("namespace that the LoadTest, its runner pods, ConfigMaps and Secrets are in. Default: default."),
			"labels":                     texts("labels to select objects by."),
			"annotations":                texts("annotations that tools keep."),
			"finalizers":                 {Type: "array", Items: text(""), Description: "finalizers to be removed before the object is."},
			"ownerReferences":            {Type: "array", Items: &openAPI{Type: "object", Open: true}, Description: "ownerReferences are the objects whose end is the LoadTest's end."},
			"managedFields":              {Type: "array", Items: &openAPI{Type: "object", Open: true}, Description: own},
			"generateName":               text("generateName is the beginning of the name, at most 45 characters. Five random characters follow. It is used if name is not set."),
			"uid":                        text(own),
			"resourceVersion":            text(own),
			"creationTimestamp":          text(own),
			"deletionTimestamp":          text(own),
			"selfLink":                   text(own),
			"generation":                 {Type: "integer", Description: own},
			"deletionGracePeriodSeconds": {Type: "integer", Description: own},
		},
	}
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
