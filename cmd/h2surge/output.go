package main

import (
	"io"
	"os"

	"golang.org/x/term"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/runner/export"
)

// Formats of the flag --output.
const (
	outputText   = "text"
	outputJSON   = "json"
	outputH2load = "h2load"
	outputHTML   = "html"
)

func checkOutput(format string) error {
	switch format {
	case outputText, outputJSON, outputH2load, outputHTML:
		return nil
	}
	return usagef("-o: %q is not possible; text, json, html and h2load are", format)
}

func writeReport(w io.Writer, format string, r *rv.Report) error {
	switch format {
	case outputJSON:
		return export.JSON(w, r)
	case outputH2load:
		return writeH2load(w, r)
	case outputHTML:
		return export.HTML(w, r)
	}
	return export.Text(w, r)
}

// isTerminal is false for everything but a file, such as a test's buffer.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
