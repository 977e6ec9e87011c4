//go:build prometheus

package prometheus

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// operatorNamespace is where the chart is rendered for.
const operatorNamespace = "h2surge-system"

// object renders the chart with all that is of Prometheus and returns the spec of its one object of a kind.
func object(t *testing.T, kind string, spec any) {
	t.Helper()
	helm, err := filepath.Abs(root + "/bin/tools/helm")
	must(t, err)
	if _, err := os.Stat(helm); err != nil {
		t.Skip("SKIPPED: bin/tools/helm is not there; make prometheus-test builds it")
	}
	home := t.TempDir()
	cmd := exec.Command(helm, "template", "h2surge", root+"/charts/h2surge", "--namespace", operatorNamespace,
		"--set", "metrics.prometheusRule.enabled=true,metrics.podMonitor.enabled=true,metrics.serviceMonitor.enabled=true")
	cmd.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none")}
	out, err := cmd.Output()
	must(t, err)
	for doc := range strings.SplitSeq("\n"+string(out), "\n---\n") {
		var o struct {
			Kind string
			Spec json.RawMessage
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == kind {
			must(t, json.Unmarshal(o.Spec, spec))
			return
		}
	}
	t.Fatalf("the chart has no %s", kind)
}

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
	object(t, "PrometheusRule", &spec)
	raw, err := yaml.Marshal(spec)
	must(t, err)
	file := filepath.Join(dir, "rules.yaml")
	must(t, os.WriteFile(file, raw, 0o600))
	return file
}

// relabelings are those of the PodMonitor, in the words of Prometheus's own configuration.
func relabelings(t *testing.T) []map[string]any {
	t.Helper()
	var spec struct {
		PodMetricsEndpoints []struct{ Relabelings []map[string]any }
	}
	object(t, "PodMonitor", &spec)
	if len(spec.PodMetricsEndpoints) != 1 || len(spec.PodMetricsEndpoints[0].Relabelings) == 0 {
		t.Fatalf("%+v", spec)
	}
	var out []map[string]any
	for _, r := range spec.PodMetricsEndpoints[0].Relabelings {
		snake := map[string]any{}
		for k, v := range r {
			snake[capitals.ReplaceAllStringFunc(k, func(c string) string { return "_" + strings.ToLower(c) })] = v
		}
		out = append(out, snake)
	}
	return out
}

var capitals = regexp.MustCompile("[A-Z]")

// query is one of a dashboard's, with the values of the run for its variables.
type query struct{ board, panel, expr string }

// queries of all panels and variables.
func queries(t *testing.T) []query {
	t.Helper()
	files, err := filepath.Glob(root + "/charts/h2surge/dashboards/*.json")
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
