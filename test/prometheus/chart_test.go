//go:build prometheus

package prometheus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/h2surge/h2surge/test/prometheus/lab"
)

type ruleGroups struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// rulesFile writes the alerts of the chart as Prometheus reads them.
func rulesFile(t *testing.T, dir string) string {
	t.Helper()
	var spec map[string]any
	lab.Object(t, "PrometheusRule", &spec)
	raw, err := yaml.Marshal(spec)
	must(t, err)
	file := filepath.Join(dir, "rules.yaml")
	must(t, os.WriteFile(file, raw, 0o600))
	return file
}

// query is one of a dashboard's, with the values of the run for its variables.
type query struct{ board, panel, expr string }

// queries of all panels and variables.
func queries(t *testing.T) []query {
	t.Helper()
	files, err := filepath.Glob(lab.Root + "/charts/h2surge/dashboards/*.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	var out []query
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		var board struct {
			Title  string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
			Templating struct {
				List []struct {
					Name  string
					Query any
				}
			}
		}
		must(t, json.Unmarshal(raw, &board))
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				out = append(out, query{board.Title, p.Title, variables.Replace(target.Expr)})
			}
		}
		for _, v := range board.Templating.List {
			if q, ok := v.Query.(map[string]any); ok {
				out = append(out, query{board.Title, "variable " + v.Name, labelValues(t, q["query"].(string))})
			}
		}
	}
	return out
}

// variables have values of the run; the interval is four scrapes, as Grafana has it.
var variables = strings.NewReplacer("$namespace", "core", "$loadtest", "app-sessions", "$__rate_interval", "4s")

var labelValuesCall = regexp.MustCompile(`^label_values\((.*), ([a-z_]+)\)$`)

// labelValues is a query that gives something when Grafana's label_values does.
func labelValues(t *testing.T, call string) string {
	t.Helper()
	m := labelValuesCall.FindStringSubmatch(call)
	if m == nil {
		t.Fatalf("%s: not a call of label_values", call)
	}
	return "count by (" + m[2] + ") (" + variables.Replace(m[1]) + ") and on (" + m[2] + ") (" + variables.Replace(m[1]) + ")"
}
