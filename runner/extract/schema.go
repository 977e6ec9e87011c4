package extract

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema, of draft 2020-12 unless it says otherwise.
type Schema struct{ compiled *jsonschema.Schema }

// schemaURL is the base of a schema that has no $id. Nothing is ever loaded from there.
const schemaURL = "schema:///schema.json"

// onlyItself refuses references to other documents. The meta-schemas of the drafts need no loading.
type onlyItself struct{}

func (onlyItself) Load(url string) (any, error) {
	return nil, fmt.Errorf("references to other documents are not allowed: %q", url)
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

// Rejection says why Valid is false for a body; it is empty for a body that is valid. Unlike Valid it allocates.
func (s *Schema) Rejection(body []byte) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprint(p)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return "not a JSON text: " + err.Error()
	}
	if err := s.compiled.Validate(doc); err != nil {
		return rejection(err.Error())
	}
	return ""
}

// rejection takes the places out of an error of the library, whose first line names the schema's address.
func rejection(text string) string {
	_, places, _ := strings.Cut(text, "\n")
	var out []string
	for line := range strings.SplitSeq(places, "\n") {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "- "); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}
