package h2loadrunner

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/convert"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; run the test with -update if that is meant (-want +got):\n%s", name, diff)
	}
}

// below reads files of a directory.
func below(dir string) convert.Reader {
	return func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, filepath.Base(name))) }
}

// Convert compiles what it makes, so a golden file is a manifest that runs.
func TestConvert(t *testing.T) {
	for _, name := range []string{"sessions", "everything"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			config, err := os.ReadFile(filepath.Join(dir, "config.json"))
			if err != nil {
				t.Fatal(err)
			}
			out, warnings, err := Convert(config, convert.Options{Name: name, Read: below(dir)})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "loadtest.yaml"), string(out))
			golden(t, filepath.Join(dir, "warnings.txt"), strings.Join(warnings, "\n")+"\n")
		})
	}
}
