package cli

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/report/verdict"
)

// withBaseline is the manifest with a threshold on the report of an earlier run, or of another source.
func withBaseline(t *testing.T, source string) string {
	t.Helper()
	return file(t, "loadtest.yaml", manifest+
		"    - {name: same, metric: ResponseTime, percentile: p50, maxIncrease: 10%, baseline: {"+source+"}}\n")
}

// TestBaseline: a run is compared with a report that was saved, and the baseline can be one that had no baseline
// itself.
func TestBaseline(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.json")
	loadTest := withBaseline(t, "report: {file: "+kept+"}")
	run := func(microseconds int64, args ...string) outcome {
		return h2surge(t, newFakeEngine(answered(1000, 0, microseconds)), nil, append([]string{"run", "-q", "-f", loadTest},
			args...)...)
	}
	first := run(1000, "--output-file", kept)
	if first.code != verdict.ExitInconclusive || !strings.Contains(first.out, "NotCompared") ||
		!strings.Contains(first.errors, "warning: spec.thresholds[1].baseline: file "+kept+
			": no such file or directory; the run will be Inconclusive") {
		t.Errorf("the first run: %+v", first)
	}
	other := file(t, "other.yaml", strings.Replace(manifest, "requestsPerSecond: 100", "requestsPerSecond: 200", 1))
	for _, c := range []struct {
		name string
		got  func() outcome
		code int
		want string
	}{
		{"the same", func() outcome { return run(1000) }, verdict.ExitPassed,
			"passed same: p50 of ResponseTime 1ms <= 1ms + 10% (baseline default/small)"},
		{"within", func() outcome { return run(1099) }, verdict.ExitPassed, "compared with default/small"},
		{"worse", func() outcome { return run(1200) }, verdict.ExitFailed,
			"FAILED same: p50 of ResponseTime 1.2ms > 1ms + 10% (baseline default/small)"},
		{"worse, as JSON", func() outcome { return run(1200, "-o", "json") }, verdict.ExitFailed, `"change": "+20%"`},
		{"worse, in a table", func() outcome { return run(1200, "--full") }, verdict.ExitFailed,
			"p50 of ResponseTime, compared with default/small"},
		{"worse, as JUnit", func() outcome { return run(1200, "-o", "junit") }, verdict.ExitFailed,
			`<failure type="ResponseTime" message="same: p50 of ResponseTime 1.2ms`},
		{"a ConfigMap", func() outcome {
			b, err := os.ReadFile(kept)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(withBaseline(t, "report: {configMapRef: {name: kept}}"))
			if err != nil {
				t.Fatal(err)
			}
			cm := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\nbinaryData: {report.json.gz: " +
				base64.StdEncoding.EncodeToString(b) + "}\n"
			return h2surge(t, newFakeEngine(answered(1000, 0, 1200)), nil, "run", "-q", "-f",
				file(t, "both.yaml", string(text)+cm))
		}, verdict.ExitFailed, "1.2ms > 1ms + 10%"},
		{"a schedule", func() outcome {
			return h2surge(t, newFakeEngine(answered(1000, 0, 1000)), nil, "run", "-q", "-f", withBaseline(t, "schedule: nightly"))
		}, verdict.ExitInconclusive, "the baseline, schedule nightly: only the operator knows its runs"},
		{"another plan", func() outcome {
			h2surge(t, newFakeEngine(answered(1000, 0, 1000)), nil, "run", "-q", "-f", other, "--output-file", kept)
			return run(1000, "-o", "junit")
		}, verdict.ExitInconclusive, "the baseline default/small has another plan"},
	} {
		if got := c.got(); got.code != c.code || !strings.Contains(strings.Join(strings.Fields(got.out), " "), c.want) {
			t.Errorf("%s: exit code %d, want %d; no %q in\n%s\n%s", c.name, got.code, c.code, c.want, got.out, got.errors)
		}
	}
}

// TestBadBaseline: nothing is sent if the baseline is not a report. Lint says so, too.
func TestBadBaseline(t *testing.T) {
	notReport := file(t, "x.json", `{"kind": "Plan"}`)
	for _, c := range []struct {
		source, run, lint string
	}{
		{"report: {file: " + notReport + "}", "spec.thresholds[1].baseline: file " + notReport +
			`: not a report: the file has kind "Plan"`, ""},
		{"report: {file: a.json, configMapRef: {name: b}}",
			"spec.thresholds[1].baseline.report: exactly one of configMapRef and file is needed", ""},
		{"report: {}", "spec.thresholds[1].baseline.report: exactly one of configMapRef and file is needed", ""},
		{"schedule: nightly, report: {file: a.json}", "spec.thresholds[1].baseline: exactly one of report and schedule is needed", ""},
		{"schedule: nightly", "", "1 LoadTest is valid"},
		{"report: {configMapRef: {name: gone}}", "",
			"warning: spec.thresholds[1].baseline: ConfigMap gone: it is not in the manifest; the run will be Inconclusive"},
	} {
		loadTest := withBaseline(t, c.source)
		if c.run != "" {
			if got := h2surge(t, nil, nil, "run", "-f", loadTest); got.code != verdict.ExitUsage || !strings.Contains(got.errors,
				c.run) {
				t.Errorf("%s: %+v, want %q", c.source, got, c.run)
			}
			c.lint = c.run
		}
		if got := h2surge(t, nil, nil, "lint", loadTest); !strings.Contains(got.out+got.errors, c.lint) {
			t.Errorf("lint of %s: %+v, want %q", c.source, got, c.lint)
		}
	}
}
