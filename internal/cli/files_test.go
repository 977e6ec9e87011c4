package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/plan"
	"github.com/h2surge/h2surge/runner/chain"
)

const manifestOfFiles = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: files}
spec:
  targets:
    - name: t
      url: https://target.example
      tls: {caFrom: {secretKeyRef: {name: s, key: ca.crt}}}
      auth: {oauth2: {tokenURL: "http://nrf.example", clientID: a, clientSecretFrom: {secretKeyRef: {name: s, key: a}}}}
  variables:
    - {name: people, csv: {configMapKeyRef: {name: c, key: a}}}
    - {name: key, constant: {valueFrom: {secretKeyRef: {name: s, key: a}}}}
  listeners:
    - name: l
      rulesFrom: {configMapKeyRef: {name: c, key: a}}
      token: {algorithm: HS256, keysFrom: {secretKeyRef: {name: s, key: a}}}
      tls: {certificate: {secretRef: {name: s}}, clientCAFrom: {secretKeyRef: {name: s, key: ca.crt}}}
  templates:
    - name: a
      method: POST
      headers: [{name: x, valueFrom: {secretKeyRef: {name: s, key: a}}}]
      bodyFrom: {configMapKeyRef: {name: c, key: a}}
      script: {luaFrom: {configMapKeyRef: {name: c, key: a}}}
      expect: {checks: [{name: s, jsonSchema: {configMapKeyRef: {name: c, key: b}}}]}
  chains: [{name: c, target: t, steps: [{template: a}]}]
  rates: [{name: r, closedLoop: {}, requests: 10}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: content of a, b: content of b}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: secret a, ca.crt: authority, tls.crt: certificate, tls.key: key}
`

// TestMaterialise: every file of the plan is moved, once for all that name it, and goes away again.
func TestMaterialise(t *testing.T) {
	s := &source{files: []string{"-"}, stdin: strings.NewReader(manifestOfFiles)}
	j, err := s.compile()
	if err != nil {
		t.Fatal(err)
	}
	before := append([]string(nil), names(j.plan.Files())...)
	placed, dir, err := materialise(j.plan, j.files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, names(j.plan.Files())); diff != "" {
		t.Errorf("the original has changed (-before +after):\n%s", diff)
	}
	if hash, err := plan.Hash(j.plan); err != nil || hash != j.hash {
		t.Errorf("the hash has changed: %v", err)
	}
	got := map[string]string{}
	for i, name := range names(placed.Files()) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		got[before[i]] = string(content)
	}
	want := map[string]string{
		"/etc/h2surge/files/configmaps/c/a":    "content of a",
		"/etc/h2surge/schemas/c/b":             "content of b",
		"/etc/h2surge/files/secrets/s/a":       "secret a",
		"/etc/h2surge/files/secrets/s/ca.crt":  "authority",
		"/etc/h2surge/files/secrets/s/tls.crt": "certificate",
		"/etc/h2surge/files/secrets/s/tls.key": "key",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(before) != 13 || len(j.files) != 8 {
		t.Errorf("%d names, %d files (-want +got):\n%s", len(before), len(j.files), diff)
	}
	remove(dir)
	for _, name := range names(placed.Files()) {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaOfSeveralKeys: a schema refers to another key of its ConfigMap. One that refers to a missing key is a mistake
// with the name of the key, before any load.
func TestSchemaOfSeveralKeys(t *testing.T) {
	const schemas = `a: '{"$ref": "common.json#/$defs/Id"}', b: '{"$ref": "common.json#/$defs/Id"}'`
	for data, want := range map[string]string{
		schemas + `, common.json: '{"$defs": {"Id": {"type": "string"}}}'`: "",
		schemas: "common.json: no such file or directory",
	} {
		s := &source{files: []string{"-"}, stdin: strings.NewReader(strings.Replace(manifestOfFiles, "a: content of a, b: content of b", data, 1))}
		j, err := s.compile()
		if err != nil {
			t.Fatal(err)
		}
		placed, dir, err := materialise(j.plan, j.files)
		if err != nil {
			t.Fatal(err)
		}
		_, err = chain.Load(placed, chain.Resources{ReadFile: os.ReadFile})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if found := strings.Contains(text, "common.json"); found != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: error %q, want %q", data, text, want)
		}
		remove(dir)
	}
}

// TestPodFieldIsRefused: the command line has no pod, so run and try refuse fieldRef.
func TestPodFieldIsRefused(t *testing.T) {
	manifest := strings.Replace(manifestOfFiles, "constant: {valueFrom: {secretKeyRef: {name: s, key: a}}}", "constant: {valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}", 1)
	const want = "spec.variables[1].constant.valueFrom.fieldRef: there is no pod on the command line; use a variable with env instead"
	s := &source{files: []string{"-"}, stdin: strings.NewReader(manifest)}
	_, err := s.compile()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func names(files []*string) (out []string) {
	for _, name := range files {
		out = append(out, *name)
	}
	return out
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	at := field.NewPath("spec", "targets").Index(0)
	got := compile.ErrorLines(missing([]compile.OwnFile{{Path: there, Field: at}, {Path: there + "/not", Field: at}, {Path: dir, Field: at}, {Path: dir + "/not", Field: at}, {Path: "./not", Field: at}}))
	want := []string{
		"spec.targets[0]: file " + there + "/not: not a directory",
		"spec.targets[0]: file " + dir + ": is a directory",
		"spec.targets[0]: file " + dir + "/not: no such file or directory",
		"spec.targets[0]: file " + dir + "/not: no such file or directory", // relative to the working directory
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
