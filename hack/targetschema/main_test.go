package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

func TestSchemaIsThatOfTheTypes(t *testing.T) {
	got, err := schemaOf("../../internal/mock/rules/file.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(rules.Schema), string(got)); diff != "" {
		t.Errorf("make manifests changes internal/mock/rules/schema.json (-want +got):\n%s", diff)
	}
}

func TestMistakes(t *testing.T) {
	for name, source := range map[string]string{
		"a field without a comment": "package p\ntype File struct {\n\tA string `yaml:\"a\"`\n}\n",
		"a type without a schema":   "package p\ntype File struct {\n\t// a is a map.\n\tA map[string]string `yaml:\"a\"`\n}\n",
	} {
		file := filepath.Join(t.TempDir(), "file.go")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := schemaOf(file); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}
