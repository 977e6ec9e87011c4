package command

import (
	"bytes"
	"encoding/json"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/h2surge/h2surge/internal/convert"
)

// Formats of the flag -o.
const (
	OutputText = "text"
	OutputJSON = "json"
	OutputYAML = "yaml"
)

// DocumentFormats are the formats of results that are not reports.
var DocumentFormats = []string{OutputText, OutputJSON, OutputYAML}

// WriteDocument writes v as YAML or else as JSON. Both have the fields in the order of the type.
func WriteDocument(w io.Writer, format string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	if format == OutputYAML {
		return JSONAsYAML(w, b.Bytes())
	}
	_, err := b.WriteTo(w)
	return err
}

// JSONAsYAML writes YAML with the fields in the order of the JSON.
func JSONAsYAML(w io.Writer, text []byte) error {
	document, err := convert.ParseJSON(text)
	if err != nil {
		return err
	}
	var b bytes.Buffer // the encoder hides the type of an error of w
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(document); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}
