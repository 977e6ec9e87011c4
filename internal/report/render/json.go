package render

import (
	"encoding/json"
	"fmt"
	"io"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// JSON writes the report as one indented JSON document with a newline at its end. docs/reference/report.md
// describes the fields.
func JSON(w io.Writer, r *runnerv1alpha1.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	// A path such as /a?b&c reads as it is.
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	return nil
}
