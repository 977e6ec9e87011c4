// Package golden compares what tests got with files, and writes the files with the flag -update.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// dir is the folder of the package under test. A test can change the working directory.
var dir, _ = os.Getwd()

// Compare compares got with a file of testdata, or writes the file.
func Compare[T string | []byte](t testing.TB, name string, got T) {
	t.Helper()
	file := filepath.Join(dir, "testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; run the test with -update if that is meant (-want +got):\n%s", file, diff)
	}
}
