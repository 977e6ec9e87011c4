//go:build chart

package chart

import (
	"os"
	"path/filepath"
	"testing"
)

// TestParentChart: a parent chart leaves h2surge out by the condition of its dependency, and otherwise sets its values.
func TestParentChart(t *testing.T) {
	touch(t)
	parent := t.TempDir()
	if err := os.CopyFS(filepath.Join(parent, "charts/h2surge"), os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	chart := `
apiVersion: v2
name: parent
version: 1.0.0
dependencies: [{name: h2surge, version: "*.*.*", condition: h2surge.enabled}]
`
	if err := os.WriteFile(filepath.Join(parent, "Chart.yaml"), []byte(chart), 0o600); err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]int{
		"h2surge: {enabled: false}":                              0,
		"h2surge: {enabled: true, fullnameOverride: h2surge}":    1,
		"{global: {registry: a}, h2surge: {nameOverride: load}}": 1,
	} {
		out, err := helm(t, values, "template", "app", parent, oldest, "--namespace", namespace)
		if err != nil {
			t.Fatal(err)
		}
		all := objects(t, out)
		ofTheAPI(t, all)
		if got := len(names(all, "Deployment")); got != want || (got == 0) != (len(all) == 0) {
			t.Errorf("%s: %d Deployments among %d objects, want %d", values, got, len(all), want)
		}
	}
}
