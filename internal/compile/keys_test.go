package compile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/compile"
)

// TestKeys: the keys of ConfigMaps and Secrets are those that the API server allows.
func TestKeys(t *testing.T) {
	const wrong = "must be letters, digits, -, _ and dots, and not begin with two dots"
	longest := strings.Repeat("a", 253)
	_, err := compile.Load(strings.NewReader(minimal + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  {"": a, .: a, ..: a, "...": a, ..a: a, ..data: null, a/b: a, ../../a: a, a b: a, "a\n": a, ä: a,
   .a_-: a, a..b: a, ` + longest + ": a, a" + longest + `: a}
binaryData: {../a: YQ==}
---
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData: {../a: a}
data: {../b: YQ==}
`))
	want := []string{
		"document 2: binaryData[../a]: " + wrong,
		"document 2: data[]: must not be empty",
		"document 2: data[.]: " + wrong,
		"document 2: data[..]: " + wrong,
		"document 2: data[...]: " + wrong,
		"document 2: data[../../a]: " + wrong,
		"document 2: data[..a]: " + wrong,
		"document 2: data[..data]: " + wrong,
		"document 2: data[a ]: " + wrong,
		"document 2: data[a b]: " + wrong,
		"document 2: data[a/b]: " + wrong,
		"document 2: data[a" + longest + "]: has 254 characters, at most 253 are possible",
		"document 2: data[ä]: " + wrong,
		"document 3: data[../b]: " + wrong,
		"document 3: stringData[../a]: " + wrong,
	}
	var broken *compile.ManifestError
	if !errors.As(err, &broken) {
		t.Fatalf("got %v, want a ManifestError", err)
	}
	if diff := cmp.Diff(want, compile.ErrorLines(broken.Errors)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
