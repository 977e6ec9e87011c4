package extract

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema, of draft 2020-12 unless it says otherwise.
type Schema struct{ compiled *jsonschema.Schema }

// schemaURL is the base of a schema that has no $id, and of the documents next to it.
const schemaURL = "schema:///"

// MaxDocuments is the maximum number of documents that a schema refers to.
const MaxDocuments = 1000

// neighbours loads the documents that a schema refers to. The meta-schemas of the drafts need no loading.
type neighbours struct {
	load func(name string) ([]byte, error)
	n    int
}

// Load implements jsonschema.URLLoader. It loads only names, with directories below that of the schema.
func (l *neighbours) Load(url string) (any, error) {
	name, below := strings.CutPrefix(url, schemaURL)
	switch {
	case !below || name == "":
		return nil, fmt.Errorf("references to documents elsewhere are not allowed: %q", url)
	case l.load == nil:
		return nil, fmt.Errorf("references to other documents are not allowed: %q", name)
	case l.n == MaxDocuments:
		return nil, fmt.Errorf("references to more than %d documents are not allowed: %q", MaxDocuments, name)
	}
	l.n++
	text, err := l.load(name)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return doc, nil
}

// NewSchema fails when text is not JSON, not a schema, or refers to a document that is missing. name is that of the
// schema in references. load reads a document next to it; nil: there are no others.
func NewSchema(name string, text []byte, load func(name string) ([]byte, error)) (s *Schema, err error) {
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
	c.UseLoader(&neighbours{load: load})
	if err := c.AddResource(schemaURL+name, doc); err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL + name)
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
