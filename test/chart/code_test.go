//go:build chart

package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/controllers/loadtest"
	"github.com/h2surge/h2surge/internal/compile"
	"github.com/h2surge/h2surge/internal/policy"
	"github.com/h2surge/h2surge/internal/report/verdict"
	runnermetrics "github.com/h2surge/h2surge/runner/metrics"
)

// libraries are metrics of controller-runtime that dashboards and alerts use.
var libraries = []string{
	"controller_runtime_reconcile_errors_total", "controller_runtime_reconcile_time_seconds", "controller_runtime_reconcile_total",
	"leader_election_master_status", "workqueue_depth",
}

var metricName = regexp.MustCompile(`\b(h2surge_(?:runner|loadtest)|controller_runtime|leader_election|workqueue)_[a-z0-9_]+`)

// metrics are the names of all metrics that there are.
func metrics() []string {
	out := slices.Clone(libraries)
	for _, f := range slices.Concat(runnermetrics.Families(), loadtest.Families()) {
		out = append(out, f.Name)
	}
	return out
}

// A dashboard or an alert with the name of no metric would be silent for ever.
func TestMetricsExist(t *testing.T) {
	known := metrics()
	files, err := filepath.Glob(chartDir + "/dashboards/*.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("dashboards: %v, %v", files, err)
	}
	for _, file := range append(files, chartDir+"/templates/alerts.yaml") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := metricName.FindAllString(string(raw), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metric", file)
		}
		for _, name := range used {
			if !slices.Contains(known, strings.TrimSuffix(name, "_bucket")) {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

// dashboards are in no golden file, which would have them once more.
const dashboards = "metrics: {dashboards: {enabled: true, annotations: {folder: Load}}}"

func TestDashboards(t *testing.T) {
	count := 0
	for _, o := range objects(t, render(t, dashboards)) {
		if o.GetLabels()["grafana_dashboard"] == "" {
			continue
		}
		if count++; o.GetAnnotations()["folder"] != "Load" {
			t.Errorf("annotations of %s: %v", o.GetName(), o.GetAnnotations())
		}
		for name, text := range field[map[string]any](t, o.Object, "data") {
			var board struct {
				UID    string
				Panels []struct {
					ID      int
					Title   string
					GridPos struct{ X, Y, W, H int }
				}
			}
			if err := json.Unmarshal([]byte(text.(string)), &board); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if board.UID+".json" != name || len(board.Panels) < 5 {
				t.Errorf("%s: uid %s, %d panels", name, board.UID, len(board.Panels))
			}
			for i, p := range board.Panels {
				if p.ID != i+1 || p.GridPos.X+p.GridPos.W > 24 {
					t.Errorf("%s: panel %q: %+v", name, p.Title, p)
				}
			}
		}
	}
	if count != 2 {
		t.Errorf("%d dashboards", count)
	}
}

// The alert warns of what the verdict will say.
func TestGeneratorBoundIsTheVerdicts(t *testing.T) {
	alerts := read(t, "charts/h2surge/templates/alerts.yaml")
	for _, want := range []string{
		"(h2surge_runner_lag_p99_seconds) > " + strconv.FormatFloat(float64(verdict.MaxLag)/1e6, 'g', -1, 64),
		"(rate(h2surge_runner_throttled_seconds_total[1m])) > " + strconv.FormatFloat(verdict.MaxThrottled, 'g', -1, 64),
	} {
		if !strings.Contains(alerts, want+"\n") {
			t.Errorf("no %q", want)
		}
	}
}

// What "helm test" applies compiles, without a warning.
func TestLoadTestOfHelmTest(t *testing.T) {
	for name, values := range cases {
		all := objects(t, render(t, values))
		lt := loadTestOf(t, all)
		if _, warnings, errs := compile.Compile(lt.Name, &lt.Spec); len(errs) > 0 || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, errs, warnings)
		}
		// By this name the pod waits for the report.
		volumes := field[[]any](t, find(t, all, "Pod", lt.Name).Object, "spec", "volumes")
		if got := field[string](t, volumes[0].(map[string]any), "configMap", "name"); got != lt.Name+"-report" {
			t.Errorf("%s: the pod waits for %s", name, got)
		}
	}
}

// The operator's configuration allows what "helm test" applies. TestRefused has values with which it would not.
func TestLoadTestOfHelmTestIsAllowed(t *testing.T) {
	for name, config := range map[string]string{
		"address":       "targets: {allowed: [{name: a, hosts: ['*.test.svc']}, {name: b, cidrs: [10.0.0.0/8, 127.0.0.1/32]}]}",
		"range":         "targets: {allowed: [{name: a, cidrs: [127.0.0.0/8]}], denied: [{name: b, cidrs: [127.1.0.0/16, '::1/128']}]}",
		"all addresses": "targets: {allowed: [{name: a, cidrs: [0.0.0.0/0]}]}",
		"host":          "targets: {allowed: [{name: a, hosts: ['127.0.0.*']}]}",
		"denied fields": "runner: {deniedPodFields: [spec.hostNetwork, spec.nodeSelector.b, spec.initContainers.securityContext.privileged]}",
	} {
		all := objects(t, render(t, "{nodeSelector: {a: c}, config: {"+config+"}}"))
		lt, cfg := loadTestOf(t, all), operatorConfig(t, all)
		addresses, err := policy.Parse(&runnerv1alpha1.AddressPolicy{Allowed: rules(cfg.Targets.Allowed), Denied: rules(cfg.Targets.Denied)})
		if err != nil {
			t.Fatal(err)
		}
		plan, _, errs := compile.Compile(lt.Name, &lt.Spec)
		limits := &compile.Limits{Addresses: addresses, DeniedPodFields: cfg.Runner.DeniedPodFields}
		if errs = append(errs, limits.Check(&lt.Spec, plan)...); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// loadTestOf returns the LoadTest of "helm test".
func loadTestOf(t *testing.T, all []*unstructured.Unstructured) *v1alpha1.LoadTest {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == "LoadTest" {
			return as[v1alpha1.LoadTest](t, o)
		}
	}
	t.Fatal("there is no LoadTest")
	return nil
}

func rules(all []configv1alpha1.AddressRule) (out []runnerv1alpha1.AddressRule) {
	for _, r := range all {
		out = append(out, runnerv1alpha1.AddressRule(r))
	}
	return out
}

// maxRelease leaves half of a Secret (1 MiB) for values and for the chart to grow.
const maxRelease = 512 << 10

// Helm stores a release as gzip of JSON with the chart's files and the manifest, in base64, which
// the Secret has in base64 once more only on the wire.
func TestReleaseFitsIntoASecret(t *testing.T) {
	files := map[string][]byte{}
	err := filepath.WalkDir(chartDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"chart": files, "manifest": render(t, cases["full"]) + render(t, dashboards+"\ncrd: {install: false}")})
	if err != nil {
		t.Fatal(err)
	}
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	size := base64.StdEncoding.EncodedLen(gz.Len())
	t.Logf("a release is some %d KiB", size>>10)
	if size > maxRelease {
		t.Errorf("a release is some %d bytes, at most %d are allowed", size, maxRelease)
	}
}
