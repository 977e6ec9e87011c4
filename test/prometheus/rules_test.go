//go:build prometheus

package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/test/prometheus/lab"
)

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("SKIPPED: there is no promtool; make prometheus-test installs it as root")
	}
	if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func TestRulesAreRight(t *testing.T) {
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", rulesFile(t, t.TempDir()))
}

// TestRulesWarn runs testdata/alerts.yaml, in which every alert is raised and not raised.
func TestRulesWarn(t *testing.T) {
	dir := t.TempDir()
	rulesFile(t, dir)
	raw, err := os.ReadFile("testdata/alerts.yaml")
	must(t, err)
	file := filepath.Join(dir, "alerts.yaml")
	must(t, os.WriteFile(file, raw, 0o600))
	promtool(t, "test", "rules", file)

	var tests struct {
		Tests []struct {
			Cases []struct {
				Alertname string `json:"alertname"`
				Alerts    []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	must(t, yaml.Unmarshal(raw, &tests))
	raised, silent := []string{}, []string{}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			if len(c.Alerts) > 0 {
				raised = append(raised, c.Alertname)
			} else {
				silent = append(silent, c.Alertname)
			}
		}
	}
	var groups ruleGroups
	lab.Object(t, "PrometheusRule", &groups)
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if !slices.Contains(raised, r.Alert) || !slices.Contains(silent, r.Alert) {
				t.Errorf("testdata/alerts.yaml does not have %s both raised and silent", r.Alert)
			}
		}
	}
}

// Every query of a dashboard is PromQL, whatever a run has.
func TestQueriesParse(t *testing.T) {
	rules := []map[string]string{}
	for _, q := range queries(t) {
		rules = append(rules, map[string]string{"record": "q", "expr": q.expr})
	}
	raw, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": rules}}})
	must(t, err)
	file := filepath.Join(t.TempDir(), "queries.yaml")
	must(t, os.WriteFile(file, raw, 0o600))
	promtool(t, "check", "rules", "--lint=none", file)
}
