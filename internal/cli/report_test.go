package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/verdict"
)

func TestReportExitCode(t *testing.T) {
	one := []rv.ThresholdResult{{Name: "clean", Metric: rv.MetricErrorRate}}
	for _, tc := range []struct {
		name    string
		verdict rv.Verdict
		search  *rv.SearchResult
		want    int
	}{
		{"passed", rv.Verdict{Outcome: rv.OutcomePassed, Reason: verdict.ReasonPassed, Thresholds: one}, nil, 0},
		{"failed", rv.Verdict{Outcome: rv.OutcomeFailed, Reason: verdict.ReasonThresholdsFailed, Thresholds: one}, nil, 2},
		{"inconclusive", rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: verdict.ReasonGeneratorBound, Thresholds: one}, nil, 3},
		{"inconclusive, nothing asked", rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: verdict.ReasonGeneratorBound}, nil, 0},
		{"inconclusive search", rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: verdict.ReasonGeneratorBound}, &rv.SearchResult{Outcome: rv.SearchGeneratorBound}, 3},
		{"stopped", rv.Verdict{Outcome: rv.OutcomeStopped, Reason: verdict.ReasonStopped}, nil, 4},
		{"a runner was lost", rv.Verdict{Outcome: rv.OutcomeError, Reason: verdict.ReasonRunnerLost}, nil, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.verdict.Message = "as it was"
			raw, err := json.Marshal(rv.Report{APIVersion: rv.APIVersion, Kind: rv.ReportKind, Verdict: tc.verdict, Search: tc.search})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(file, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := h2surge(t, nil, nil, "report", file); got.code != 0 || got.errors != "" {
				t.Errorf("without the flag: exit code %d, %s", got.code, got.errors)
			}
			got := h2surge(t, nil, nil, "report", file, "--exit-code")
			if got.code != tc.want || got.out == "" {
				t.Errorf("exit code %d, want %d; %s", got.code, tc.want, got.errors)
			}
			if reported := strings.Contains(got.errors, "as it was"); reported != (tc.want != 0) {
				t.Errorf("standard error: %q", got.errors)
			}
		})
	}
}

// TestSummaryOrAll: standard output gets the summary unless --full is given, and files always have the whole report.
func TestSummaryOrAll(t *testing.T) {
	const whole = "\nRequests\n  sent "
	saved := savedRun(t, 1000, 5, 1000)
	for _, args := range [][]string{{"report", saved}, {"run", "-q", "-f", "-"}} {
		run := func(more ...string) outcome {
			return h2surge(t, newFakeEngine(answered(1000, 5, 1000)), nil, append(args, more...)...)
		}
		if got := run(); strings.Contains(got.out, whole) || !strings.Contains(got.out, "\n  Rate  ") || !strings.HasSuffix(got.out, "\nFull report: --full, or --output-file report.html\n") {
			t.Errorf("%s: %s", args[0], got.out)
		}
		if got := run("--full"); !strings.Contains(got.out, whole) {
			t.Errorf("%s --full: %s", args[0], got.out)
		}
		if got := run("--full", "-o", "json"); got.code != verdict.ExitUsage || !strings.Contains(got.errors, "--full: allowed only with -o text") {
			t.Errorf("%s --full -o json: exit code %d, %s", args[0], got.code, got.errors)
		}
		text := filepath.Join(t.TempDir(), "r.txt")
		got := run("--output-file", text)
		if b, err := os.ReadFile(text); err != nil || !strings.Contains(string(b), whole) {
			t.Errorf("%s --output-file: %v\n%s", args[0], err, b)
		}
		if args[0] == "run" && !strings.Contains(strings.Join(strings.Fields(got.out), " "), "Full report: "+text) {
			t.Errorf("run --output-file: %s", got.out)
		}
	}
}

// TestReportsThatContradictThemselves: report and compare refuse the same files, with the same message.
func TestReportsThatContradictThemselves(t *testing.T) {
	good := savedRun(t, 1000, 5, 1000)
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(*rv.Report)
		want   string
	}{
		{"a negative counter", func(r *rv.Report) { r.Requests.Sent = -5 }, "requests: a counter is -5"},
		{"a negative counter of a stage", func(r *rv.Report) { r.Stages[0].Sent = -5 }, "stage r: a counter is -5"},
		{"errorRatio instead of errorRate", func(r *rv.Report) { r.ErrorRate = 0 }, "errorRate is 0%, but the counters give 0.5%"},
		{"no p99.9", func(r *rv.Report) { r.ResponseTime.P999 = 0 }, "the percentiles of responseTime are not in ascending order"},
		{"no steps", func(r *rv.Report) { r.Steps = nil }, "sent of all steps is 0, want 1000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &rv.Report{}
			if err := json.Unmarshal(raw, r); err != nil {
				t.Fatal(err)
			}
			tc.change(r)
			r.Version = "v0.1.0"
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			bad := file(t, "bad.json", string(b))
			want := bad + ": its figures contradict each other: " + tc.want + "; the file is damaged, or has the format of an earlier version: h2surge v0.1.0 wrote it\n"
			for _, args := range [][]string{{"report", bad}, {"compare", good, bad}, {"compare", bad, good}} {
				if got := h2surge(t, nil, nil, args...); got.code != verdict.ExitUsage || got.errors != want || got.out != "" {
					t.Errorf("%s: exit code %d, %s\nwant %s", args[0], got.code, got.errors, want)
				}
			}
		})
	}
}
