package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
)

func (c *checker) jsonSchema(at *field.Path, in *v1alpha1.JSONSchema) *rv.Content {
	if in.Inline != nil {
		return &rv.Content{Text: c.inlineSchema(at.Child("inline"), in.Inline.Raw)}
	}
	if ref := in.ConfigMapKeyRef; ref != nil {
		return &rv.Content{File: path.Join(SchemasDir, ref.Name, ref.Key)}
	}
	return &rv.Content{File: c.file(at.Child("file"), in.File)}
}

func (c *checker) inlineSchema(at *field.Path, raw []byte) string {
	text := c.object(at, raw)
	if text == "" {
		return ""
	}
	if problem := schemaTooLarge(text); problem != "" {
		c.fail(at, "%s", problem)
	} else if problem := SchemaProblem(text); problem != "" {
		c.fail(at, "%s", problem)
	}
	return text
}

// object returns a JSON object in one spelling, so that the same object is the same plan. Its numbers are those that
// the API server stores.
func (c *checker) object(at *field.Path, raw []byte) string {
	var stored map[string]any
	if !json.Valid(raw) {
		c.fail(at, "is not JSON")
		return ""
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &stored); err != nil || stored == nil {
		c.fail(at, "must be an object")
		return ""
	}
	var canonical bytes.Buffer
	enc := json.NewEncoder(&canonical)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(stored); err != nil {
		c.fail(at, "is not JSON")
	}
	return strings.TrimSuffix(canonical.String(), "\n")
}

// errOtherDocument is why nothing is loaded: a runner has no access to what a schema may name.
var errOtherDocument = errors.New("is another document")

// noDocuments refuses all that a schema refers to and that is not part of the standard.
type noDocuments struct{}

func (noDocuments) Load(string) (any, error) { return nil, errOtherDocument }

// schemaURL is the base of references within a schema.
const schemaURL = "schema:///"

// SchemaProblem compiles a schema as runners do, and says what is wrong with it, or nothing.
func SchemaProblem(text string) string {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noDocuments{})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = compiler.AddResource(schemaURL, doc)
	}
	if err == nil {
		_, err = compiler.Compile(schemaURL)
	}
	var broken *jsonschema.SchemaValidationError
	var elsewhere *jsonschema.LoadURLError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &elsewhere):
		return "refers to another document, " + strings.TrimPrefix(elsewhere.URL, schemaURL) +
			"; put what it needs under $defs"
	case errors.As(err, &broken):
		return "is not a JSON Schema: " + schemaFaults(broken.Err)
	}
	return "is not a JSON Schema: " + strings.ReplaceAll(err.Error(), schemaURL, "")
}

// schemaFaults drops the names of the standard's documents, of which the library's message has many.
func schemaFaults(err error) string {
	var faults []string
	for line := range strings.Lines(err.Error()) {
		if fault, found := strings.CutPrefix(strings.TrimSpace(line), "- "); found && !strings.Contains(fault, "failed") {
			faults = append(faults, fault)
		}
	}
	return strings.Join(faults, "; ")
}
