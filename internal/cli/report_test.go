package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/verdict"
)

func TestReportExitCode(t *testing.T) {
	one := []rv.ThresholdResult{{Name: "clean", Metric: rv.MetricErrorRate}}
	for _, tc := range []struct {
		name    string
		verdict rv.Verdict
		want    int
	}{
		{"passed", rv.Verdict{Outcome: rv.OutcomePassed, Reason: verdict.ReasonPassed, Thresholds: one}, 0},
		{"failed", rv.Verdict{Outcome: rv.OutcomeFailed, Reason: verdict.ReasonThresholdsFailed, Thresholds: one}, 2},
		{"inconclusive", rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: verdict.ReasonGeneratorBound, Thresholds: one}, 3},
		{"inconclusive, nothing asked", rv.Verdict{Outcome: rv.OutcomeInconclusive, Reason: verdict.ReasonGeneratorBound}, 0},
		{"stopped", rv.Verdict{Outcome: rv.OutcomeStopped, Reason: verdict.ReasonStopped}, 4},
		{"a runner was lost", rv.Verdict{Outcome: rv.OutcomeError, Reason: verdict.ReasonRunnerLost}, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.verdict.Message = "as it was"
			raw, err := json.Marshal(rv.Report{APIVersion: rv.APIVersion, Kind: rv.ReportKind, Verdict: tc.verdict})
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
