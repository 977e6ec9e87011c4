//go:build prometheus

package prometheus

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/test/prometheus/lab"
)

// observed loads the target, and then pauses for so long that the server has scraped all of the target's CPU time.
const observed = `
apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: observed}
spec:
  targets: [{name: target, url: "http://%s"}]
  observe:
    - {name: cpu-time, unit: Seconds, prometheus: {url: %q, query: process_cpu_seconds_total, interval: 1s}}
    - {name: cpu, unit: Cores, prometheus: {url: %[2]q, query: "rate(process_cpu_seconds_total[5s])", interval: 1s}}
  chains: [{name: get, target: target, steps: [{name: get, request: {path: /}}]}]
  rates: [{name: load, closedLoop: {concurrency: 32}, duration: 6s}, {name: pause, requestsPerSecond: 0, duration: 5s}]
`

// TestObserve: the CPU time of a target in the report is that of the kernel, by way of a real server.
func TestObserve(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "h2surge")
	run(t, "go", "build", "-trimpath", "-o", program, lab.Root+"/cmd/h2surge")
	target := exec.Command(program, "target", "--listen", "127.0.0.1:0", "--stats-listen", "127.0.0.1:0")
	says, err := target.StdoutPipe()
	must(t, err)
	must(t, target.Start())
	t.Cleanup(func() { _ = target.Process.Kill(); _ = target.Wait() })
	var stats, address string
	_, err = fmt.Fscanf(says, "stats on http://%s\nlistening on %s\n", &stats, &address)
	must(t, err)
	stats = strings.TrimSuffix(stats, "/stats")
	server := lab.Start(t, lab.Packaged, map[string]any{
		"global":         map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s"},
		"scrape_configs": []map[string]any{{"job_name": "target", "static_configs": []map[string]any{{"targets": []string{stats}}}}},
	})
	lab.Await(t, "a scrape", func() bool { _, ok := server.Now(t, "process_cpu_seconds_total"); return ok })
	manifest := filepath.Join(dir, "observed.yaml")
	must(t, os.WriteFile(manifest, fmt.Appendf(nil, observed, address, server.URL()), 0o600))

	var report rv.Report
	must(t, json.Unmarshal(run(t, program, "run", "-q", "-o", "json", manifest), &report))
	want := cpuTime(t, target.Process.Pid)
	o := report.Observations[0]
	if len(o.Series) != 1 || len(o.Gaps) > 0 {
		t.Fatalf("observation %+v", o)
	}
	points := o.Series[0].Points
	got := points[len(points)-1].Max
	t.Logf("FIGURE CPU time of the target: report %.3f s, kernel %.3f s", got, want)
	if math.Abs(got-want) > 0.02*want {
		t.Errorf("the report has %.3f s of CPU time, the kernel %.3f s", got, want)
	}
	if f := report.Observations[1].Series[0].Figures; f.Mean <= 0 || f.Samples < 5 {
		t.Errorf("cores %+v", f)
	}
}

// run returns the output of a program.
func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	return out
}

// cpuTime returns the user and system time of a process in seconds (proc_pid_stat(5)).
func cpuTime(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks float64
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseFloat(f, 64)
		must(t, err)
		ticks += n
	}
	return ticks / 100 // USER_HZ is 100 on all architectures that Linux has
}
