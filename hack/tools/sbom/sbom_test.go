package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	spdx "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
)

var someModules = []module{
	{path: "example.com/A/b", version: "v1.2.3", sum: "h1:x=", licences: []string{"MIT"}},
	{path: "example.com/c", version: "v0.1.0", licences: []string{"AGPL-3.0", "MIT"}},
	{path: "example.com/d", version: "v0.1.0"},
	{path: standard, version: "go1.26.1", licences: []string{"BSD-3-Clause"}},
}

// TestDocument reads a document back, with the library that wrote it.
func TestDocument(t *testing.T) {
	var a, b bytes.Buffer
	for _, out := range []*bytes.Buffer{&a, &b} {
		if err := write(out, "h2surge", "v1", someModules); err != nil {
			t.Fatal(err)
		}
	}
	if a.String() != b.String() {
		t.Error("two documents of the same modules differ")
	}
	doc, err := spdx.Read(&a)
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	if len(doc.Packages) != 5 || len(doc.Relationships) != 5 {
		t.Fatalf("%d packages, %d relationships", len(doc.Packages), len(doc.Relationships))
	}
	var urls []string
	for _, p := range doc.Packages[1:] {
		urls = append(urls, p.PackageExternalReferences[0].Locator+" "+p.PackageLicenseConcluded)
	}
	want := []string{
		"pkg:golang/example.com/a/b@v1.2.3 MIT", "pkg:golang/example.com/c@v0.1.0 AGPL-3.0 AND MIT", "pkg:golang/example.com/d@v0.1.0 NOASSERTION",
		"pkg:golang/std@1.26.1 BSD-3-Clause",
	}
	if !reflect.DeepEqual(urls, want) {
		t.Errorf("packages\n%s\nwant\n%s", strings.Join(urls, "\n"), strings.Join(want, "\n"))
	}
}

func TestRefused(t *testing.T) {
	want := []string{"  example.com/c v0.1.0: AGPL-3.0", "  example.com/d v0.1.0: no licence was found"}
	if got := refused(someModules); !reflect.DeepEqual(got, want) {
		t.Errorf("refused %q, want %q", got, want)
	}
}

func TestLicences(t *testing.T) {
	root, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file string
		text       []byte
		want       []string
	}{
		{"of this project", "LICENSE", root, []string{"Apache-2.0"}},
		{"in another file", "README", root, nil},
		{"some text", "LICENSE", []byte("Ask us."), nil},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tt.file), tt.text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := licencesIn(dir)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// TestModulesOf lists the modules of this test's program.
func TestModulesOf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := modulesOf([]string{self, self})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range modules {
		if found[m.path] {
			t.Errorf("%s is listed twice", m.path)
		}
		found[m.path] = len(m.licences) > 0 && m.version != ""
	}
	for _, path := range []string{standard, "github.com/google/licensecheck", "github.com/spdx/tools-golang"} {
		if !found[path] {
			t.Errorf("%s is missing, or has no licence", path)
		}
	}
}
