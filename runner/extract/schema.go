package extract

import (
	"bytes"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema, of draft 2020-12 unless it says otherwise.
type Schema struct{ compiled *jsonschema.Schema }

// schemaURL is the base of a schema that has no $id. Nothing is ever loaded from there.
const schemaURL = "schema:///schema.json"

// onlyItself refuses references to other documents. The meta-schemas of the drafts need no loading.
type onlyItself struct{}

func (onlyItself) Load(url string) (any, error) {
	return nil, fmt.Errorf("references to other documents are refused: %q", url)
}

// NewSchema fails when text is not JSON, not a schema, or refers to another document.
func NewSchema(text []byte) (s *Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("JSON Schema: %v", p)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(onlyItself{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	return &Schema{compiled}, nil
}

// Valid is true when body is a JSON text that the schema allows.
func (s *Schema) Valid(body []byte) (valid bool) {
	defer func() {
		if recover() != nil { // the library, at a number too large for it
			valid = false
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	return err == nil && s.compiled.Validate(doc) == nil
}
