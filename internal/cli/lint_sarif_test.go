package cli

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sarifSchema is that of OASIS for SARIF 2.1.0, errata 01, without changes. Its id is its address.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile("testdata/sarif-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, string(raw))
}

// TestSARIF: the output is valid for the schema of SARIF 2.1.0, and has what GitHub needs of a result: a rule that the driver has, and a file
// with a line.
func TestSARIF(t *testing.T) {
	schema := sarifSchema(t)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"test.yaml":   string(must(os.ReadFile("testdata/lint/sound.yaml"))) + "  unknown: 1\n",
		"other.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"tab.yaml":    "a:\n\t- b\n",
		"a b#%c.yaml": "{}",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"testdata/lint/sound.yaml"}, {"testdata/lint/several.yaml"}, {"testdata/lint/list.yaml"}, {"testdata/lint/mistakes.yaml"}, {"testdata/lint/helm.yaml"},
		{"testdata/lint/does,not:exist.yaml"}, {"./a:b.yaml"}, {"-"}, {dir}, {filepath.Join(dir, "other.yaml"), filepath.Join(dir, "test.yaml")}, {t.TempDir()},
	} {
		got := h2surge(t, nil, nil, append([]string{"lint", "-o", "sarif"}, args...)...)
		if err := validate(t, schema, got.out); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		var log sarifLog
		if err := json.Unmarshal([]byte(got.out), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
			t.Fatalf("%v: %v\n%s", args, err, got.out)
		}
		run := log.Runs[0]
		if got.code != 0 && len(run.Results) == 0 || run.Tool.Driver.Name != "h2surge" {
			t.Errorf("%v: exit code %d\n%s", args, got.code, got.out)
		}
		for _, r := range run.Results {
			known := slices.ContainsFunc(run.Tool.Driver.Rules, func(rule sarifRule) bool { return rule.ID == r.RuleID })
			if !known || r.Message.Text == "" || strings.Contains(r.Message.Text, "\n") || len(r.Locations) != 1 {
				t.Errorf("%v: %+v", args, r)
				continue
			}
			at := r.Locations[0].PhysicalLocation
			u, err := url.Parse(at.ArtifactLocation.URI)
			if err != nil || u.Scheme != "" || u.Path == "" || strings.Contains(u.Path, ", ") || at.Region.StartLine < 1 {
				t.Errorf("%v: %v: %+v", args, err, at)
			}
		}
	}
}

// TestSARIFSchema: the schema refuses what a result must not be.
func TestSARIFSchema(t *testing.T) {
	sound := string(must(os.ReadFile("testdata/lint/several.sarif.txt")))
	schema := sarifSchema(t)
	for _, change := range [][2]string{{`"version": "2.1.0"`, `"version": "2"`}, {`"level": "error"`, `"level": "fatal"`}, {`"startLine": 8`, `"startLine": 0`}, {`"text": `, `"txt": `}} {
		bad := strings.Replace(sound, change[0], change[1], 1)
		if bad == sound || validate(t, schema, bad) == nil {
			t.Errorf("%s is taken", change[1])
		}
	}
}
