package lab

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

// Root of the repository, from a package of tests.
const Root = "../.."

// OperatorNamespace is where the chart is rendered for.
const OperatorNamespace = "h2surge-system"

// Object renders the chart with all that is of Prometheus and reads the spec of its one object of a kind. It skips the
// test without the pinned Helm.
func Object(t *testing.T, kind string, spec any) {
	t.Helper()
	helm, err := filepath.Abs(Root + "/bin/tools/helm")
	must(t, err)
	if _, err := os.Stat(helm); err != nil {
		t.Skip("SKIPPED: bin/tools/helm is not there; make bin/tools/helm builds it")
	}
	home := t.TempDir()
	cmd := exec.Command(helm, "template", "h2surge", Root+"/charts/h2surge", "--namespace", OperatorNamespace,
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

// Endpoint is what a monitor scrapes of each pod or address, by the name of its port.
type Endpoint struct {
	Port, Scheme string
	HonorLabels  bool
	TLSConfig    map[string]bool
	Relabelings  []map[string]any
}

// Monitor is the spec of a PodMonitor or a ServiceMonitor.
type Monitor struct {
	Selector            struct{ MatchLabels map[string]string }
	PodMetricsEndpoints []Endpoint
	Endpoints           []Endpoint
}

// MonitorOf reads the chart's one monitor of a kind, which has one endpoint.
func MonitorOf(t *testing.T, kind string) (labels map[string]string, e Endpoint) {
	t.Helper()
	var m Monitor
	Object(t, kind, &m)
	all := append(m.PodMetricsEndpoints, m.Endpoints...)
	if len(all) != 1 || len(m.Selector.MatchLabels) == 0 {
		t.Fatalf("%s %+v: want labels and one endpoint", kind, m)
	}
	return m.Selector.MatchLabels, all[0]
}

// Relabelings are those of the PodMonitor, in the words of Prometheus's own configuration.
func Relabelings(t *testing.T) []map[string]any {
	t.Helper()
	_, e := MonitorOf(t, "PodMonitor")
	if len(e.Relabelings) == 0 {
		t.Fatal("the PodMonitor has no relabelings")
	}
	var out []map[string]any
	for _, r := range e.Relabelings {
		snake := map[string]any{}
		for k, v := range r {
			snake[capitals.ReplaceAllStringFunc(k, func(c string) string { return "_" + strings.ToLower(c) })] = v
		}
		out = append(out, snake)
	}
	return out
}

var capitals = regexp.MustCompile("[A-Z]")
