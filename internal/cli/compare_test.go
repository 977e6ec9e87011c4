package cli

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/cli/command"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

// savedRun runs a test whose requests take the given time, and returns the file of its report.
func savedRun(t *testing.T, n, failed, microseconds int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.json")
	h2surge(t, newFakeEngine(answered(n, failed, microseconds)), nil, "run", "-q", "-f", "-", "--output-file", file)
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCompareCommand(t *testing.T) {
	base, slower, failing := savedRun(t, 1000, 0, 1000), savedRun(t, 1000, 0, 1080), savedRun(t, 1000, 5, 1000)
	notReport := file(t, "x.json", `{"kind": "Plan"}`)
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // in the standard output, or in the standard error if the code is ExitUsage; the other one is empty
	}{
		{"equal", []string{base, base}, verdict.ExitPassed, "Comparison: Passed"},
		{"within the tolerance", []string{base, slower}, verdict.ExitPassed, "Comparison: Passed"},
		{"above the tolerance", []string{base, slower, "--tolerance", "5%"}, verdict.ExitFailed, "response time p50 1ms -> 1.08ms (+8%)"},
		{"faster", []string{slower, base, "--tolerance", "5%"}, verdict.ExitPassed, "better"},
		{"errors", []string{base, failing}, verdict.ExitFailed, "error rate 0% -> 0.5% (+0.5 points)"},
		{"errors within the tolerance", []string{base, failing, "--error-tolerance", "0.5%"}, verdict.ExitPassed, "+0.5 points"},
		{"few requests", []string{savedRun(t, 9, 0, 1000), savedRun(t, 9, 0, 9000)}, verdict.ExitInconclusive, "too few requests"},
		{"standard input", []string{base, "-"}, verdict.ExitUsage, "not a report"},
		{"standard input twice", []string{"-", "-"}, verdict.ExitUsage, "B: only one of the two reports can be standard input"},
		{"not a report", []string{base, notReport}, verdict.ExitUsage, `x.json: not a report: the file has kind "Plan"`},
		{"no file", []string{base, "missing.json"}, verdict.ExitUsage, "missing.json: "},
		{"one report", []string{base}, verdict.ExitUsage, "B: the argument is missing"},
		{"a number", []string{base, base, "--tolerance", "5"}, verdict.ExitUsage, `--tolerance: "5" is not a percentage such as 5%`},
		{"a format", []string{base, base, "-o", "csv"}, verdict.ExitUsage, `-o: "csv" is not a format; allowed: text, json, yaml, html, markdown`},
		{"a file of another format", []string{base, base, "--output-file", "x.csv.gz"}, verdict.ExitUsage,
			"--output-file: x.csv.gz: a comparison cannot be saved as csv; allowed: .txt, .json, .yaml, .html, .md\n"},
		{"JSON", []string{base, slower, "-o", "json"}, verdict.ExitPassed, `"kind": "Comparison"`},
		{"YAML", []string{base, slower, "-o", "yaml"}, verdict.ExitPassed, "kind: Comparison"},
		{"Markdown", []string{base, slower, "-o", "markdown"}, verdict.ExitPassed, "## Comparison: Passed"},
		{"HTML", []string{base, slower, "-o", "html"}, verdict.ExitPassed, "<!doctype html>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := h2surge(t, nil, nil, append([]string{"compare"}, tt.args...)...)
			where, other := strings.Join(strings.Fields(got.out), " "), got.errors
			if tt.code == verdict.ExitUsage {
				where, other = got.errors, got.out
			}
			if got.code != tt.code || !strings.Contains(where, tt.want) || other != "" {
				t.Errorf("exit code %d, want %d; no %q, or more than that, in\n%s\n%s", got.code, tt.code, tt.want, got.out, got.errors)
			}
		})
	}
}

// TestCompareFile: a comparison that failed is saved, too, and the message is on standard error, because the terminal shows nothing else.
func TestCompareFile(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "c.md")
	got := h2surge(t, nil, nil, "compare", savedRun(t, 1000, 0, 1000), savedRun(t, 1000, 0, 2000), "--output-file", saved)
	b, err := os.ReadFile(saved)
	if err != nil || got.code != verdict.ExitFailed || got.out != "" || !strings.Contains(got.errors, "worse in B") ||
		!strings.HasPrefix(string(b), "## Comparison: Failed") {
		t.Errorf("%+v, %v\n%s", got, err, b)
	}
}

// TestSeveralFiles: each file of --output-file has the format of its name.
func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	begins := map[string]string{
		"r.json": "{", "r.html": "<!doctype html>", "r.md": "## Passed: ", "r.xml": xml.Header, "r.csv": "time,from,to,",
		"r.hlog": "#[Logged with h2surge ", "r.hgrm": "       Value     Percentile TotalCount", "r.txt": "default/small",
	}
	args := []string{"-q", "-f", "-"}
	for name := range begins {
		args = append(args, "--output-file", filepath.Join(dir, name))
	}
	if got := h2surge(t, newFakeEngine(answered(100, 0, 1000)), nil, append([]string{"run"}, args...)...); got.code != 0 || !strings.Contains(got.out, "Verdict: Passed") {
		t.Fatalf("%+v", got)
	}
	for name, want := range begins {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s begins with %.40q, want %q; %v", name, b, want, err)
		}
	}
	second := filepath.Join(dir, "copy.md")
	got := h2surge(t, nil, nil, "report", filepath.Join(dir, "r.json"), "--output-file", second, "--output-file", filepath.Join(dir, "copy.csv"))
	if b, err := os.ReadFile(second); err != nil || got.code != 0 || !strings.HasPrefix(string(b), "## Passed") {
		t.Errorf("%+v, %v, %s", got, err, b)
	}
}

// TestOneFileFails: if one file cannot be opened, nothing is sent and nothing is left.
func TestOneFileFails(t *testing.T) {
	dir := t.TempDir()
	got := h2surge(t, nil, nil, "run", "-q", "-f", "-", "--output-file", filepath.Join(dir, "r.md"), "--output-file", filepath.Join(dir, "missing", "r.xml"))
	if got.code != verdict.ExitUsage || !strings.HasPrefix(got.errors, "--output-file: ") {
		t.Errorf("%+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	got = h2surge(t, nil, nil, "report", file(t, "x.json", "{}"), "-o", "csv", "--output-file", "a.csv", "--output-file", "b.csv")
	if got.code != verdict.ExitUsage || !strings.Contains(got.errors, "-o: not allowed with several --output-file") {
		t.Errorf("%+v", got)
	}
}

// TestFormatsOfReport: each format of -o writes something, and JSON can be read again.
func TestFormatsOfReport(t *testing.T) {
	saved := savedRun(t, 100, 0, 1000)
	for _, format := range report.Formats {
		got := h2surge(t, nil, nil, "report", saved, "-o", format)
		if got.code != 0 || len(got.out) < 40 {
			t.Errorf("%s: %+v", format, got)
		}
		if format == command.OutputJSON && !json.Valid([]byte(got.out)) {
			t.Errorf("%s is not JSON", format)
		}
	}
}
