package lab

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Collector is a collector of OpenTelemetry: a process that receives OTLP over HTTP and writes it to a file.
type Collector struct {
	t             *testing.T
	address, file string
	config        string
	cmd           *exec.Cmd
}

// StartCollector starts the collector of hack/tools until the test ends, or skips the test where there is none.
func StartCollector(t *testing.T) *Collector {
	t.Helper()
	program := Root + "/bin/tools/otelcol"
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIPPED: there is no %s: %v", program, err)
	}
	dir := t.TempDir()
	c := &Collector{t: t, address: freeAddress(t), file: filepath.Join(dir, "metrics.json"),
		config: filepath.Join(dir, "config.yaml")}
	raw, err := yaml.Marshal(map[string]any{
		"receivers": map[string]any{"otlp": map[string]any{"protocols": map[string]any{
			"http": map[string]any{"endpoint": c.address}}}},
		"exporters": map[string]any{"file": map[string]any{"path": c.file, "append": true}},
		"service": map[string]any{
			"telemetry": map[string]any{"metrics": map[string]any{"level": "none"}},
			"pipelines": map[string]any{"metrics": map[string]any{"receivers": []string{"otlp"},
				"exporters": []string{"file"}}},
		},
	})
	must(t, err)
	must(t, os.WriteFile(c.config, raw, 0o600))
	t.Cleanup(c.Stop)
	c.Start()
	return c
}

// URL is the endpoint of the collector.
func (c *Collector) URL() string { return "http://" + c.address }

// Start starts the process, also after Stop, and waits until it receives.
func (c *Collector) Start() {
	c.t.Helper()
	c.cmd = exec.Command(Root+"/bin/tools/otelcol", "--config=file:"+c.config)
	c.cmd.Stderr = os.Stderr
	must(c.t, c.cmd.Start())
	Await(c.t, "the collector", func() bool {
		r, err := http.Post(c.URL()+"/v1/metrics", "application/json", strings.NewReader("{}"))
		if err != nil {
			return false
		}
		defer r.Body.Close() //nolint:errcheck // nothing was read
		return r.StatusCode == http.StatusOK
	})
}

// Stop ends the process at once.
func (c *Collector) Stop() {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	c.cmd = nil
}

// Resources returns the metrics that the collector wrote so far, in their order. A line that is being written is left
// out.
func (c *Collector) Resources() (out []*metricsv1.ResourceMetrics) {
	c.t.Helper()
	f, err := os.Open(c.file)
	must(c.t, err)
	defer f.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if !json.Valid(lines.Bytes()) {
			continue
		}
		var data metricsv1.MetricsData
		must(c.t, protojson.Unmarshal(lines.Bytes(), &data))
		out = append(out, data.GetResourceMetrics()...)
	}
	must(c.t, lines.Err())
	return out
}
