package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/config/crd"
)

func TestGeneratedFileIsThatOfTheCRD(t *testing.T) {
	want, err := generate(crd.LoadTests)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../internal/compile/zz_generated.bounds.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("make manifests changes the file (-want +got):\n%s", diff)
	}
}

// TestUnknownShapes changes the CRD so that the table could not express it.
func TestUnknownShapes(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"another rule for a duration":            {"rule: duration(self) >= duration('1s') && duration(self)", "rule: duration(self) != duration('1s') && duration(self)", "is not a rule for a duration"},
		"other bounds of a type":                 {"maximum: 100000\n", "maximum: 100001\n", ""},
		"a field that the Go type does not have": {"cookies:\n", "biscuits:\n", "v1alpha1.Chain has no such field"},
		"bounds that differ from place to place": {"maxLength: 4096\n", "maxLength: 4095\n", "elsewhere"},
	} {
		changed := strings.Replace(string(crd.LoadTests), tc.from, tc.to, 1)
		if changed == string(crd.LoadTests) {
			t.Fatalf("%s: the CRD does not have %q", name, tc.from)
		}
		_, err := generate([]byte(changed))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
