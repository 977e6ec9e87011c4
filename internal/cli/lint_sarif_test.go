package cli

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSARIF: a result has what SARIF 2.1.0 requires of it and what GitHub needs: a level, a rule that the driver has, and a file with a line.
func TestSARIF(t *testing.T) {
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
			if !known || !slices.Contains([]string{"none", "note", "warning", "error"}, r.Level) || r.Message.Text == "" || strings.Contains(r.Message.Text, "\n") || len(r.Locations) != 1 {
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
