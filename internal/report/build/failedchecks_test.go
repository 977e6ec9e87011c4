package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestFailedChecks: a failed check of the status is counted by status if the statuses are certain.
func TestFailedChecks(t *testing.T) {
	for name, tc := range map[string]struct{ failedBy, codes, want map[string]int64 }{
		"all":                        {map[string]int64{"status": 100}, map[string]int64{"401": 100}, map[string]int64{"status 401": 100}},
		"most are expected":          {map[string]int64{"status": 30, "fast": 4}, map[string]int64{"201": 70, "503": 20, "429": 10}, map[string]int64{"status 503": 20, "status 429": 10, "check fast": 4}},
		"few are expected":           {map[string]int64{"status": 100}, map[string]int64{"201": 50, "503": 100}, map[string]int64{"status 503": 100}},
		"an error is expected":       {map[string]int64{"status": 10}, map[string]int64{"404": 90, "200": 10}, map[string]int64{"status 200": 10}},
		"the statuses are not known": {map[string]int64{"status": 10}, nil, map[string]int64{"check status": 10}},
		"the statuses do not add up": {map[string]int64{"status": 15}, map[string]int64{"404": 20, "200": 10, "503": 12}, map[string]int64{"check status": 15}},
		"another check only":         {map[string]int64{"fast": 3}, map[string]int64{"200": 3}, map[string]int64{"check fast": 3}},
	} {
		got := FailedChecks(&runnerv1alpha1.Report{Steps: []runnerv1alpha1.StepResult{{FailedBy: tc.failedBy, StatusCodes: tc.codes}}})
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
