// Package converttest has the common tests of all converters: files of testdata, errors in the input,
// docs/reference/convert.md, and fuzzing.
package converttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/convert"
)

// Input is a file of testdata.
func Input(tb testing.TB, name string) string {
	tb.Helper()
	return read(tb, filepath.Join("testdata", name))
}

func read(tb testing.TB, name string) string {
	tb.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// Lines is a golden file of warnings.
func Lines(warnings []string) string { return strings.Join(warnings, "\n") + "\n" }

// Below reads the files of a directory of testdata, whatever directory an input names.
func Below(dir string) convert.Reader {
	return func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("testdata", dir, filepath.Base(name)))
	}
}

// Docs is the pages of the converters, for the test of a package of internal/convert.
func Docs(t *testing.T) string {
	t.Helper()
	return read(t, "../../../docs/reference/convert.md") + read(t, "../../../docs/reference/convert-appendix.md")
}
