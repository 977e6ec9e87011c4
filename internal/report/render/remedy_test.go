package render

import (
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestRemedy: what to do follows from the cause, and does not contradict the detail of a failure that names the remedy itself.
func TestRemedy(t *testing.T) {
	failed := func(cause runnerv1alpha1.Cause) runnerv1alpha1.FailureCount {
		return runnerv1alpha1.FailureCount{Failure: runnerv1alpha1.Failure{Of: runnerv1alpha1.FailureConnect, Cause: cause}}
	}
	const other = "\"h2surge try\" with the same arguments shows each request and its response."
	for name, tc := range map[string]struct {
		failures []runnerv1alpha1.FailureCount
		want     string
	}{
		"refused":                   {[]runnerv1alpha1.FailureCount{failed(runnerv1alpha1.CauseRefused)}, "Start the server, or correct the host or the port of the URL."},
		"another protocol":          {[]runnerv1alpha1.FailureCount{failed(runnerv1alpha1.CauseProtocol)}, "Correct the scheme or the port of the URL."},
		"another protocol, refused": {[]runnerv1alpha1.FailureCount{failed(runnerv1alpha1.CauseProtocol), failed(runnerv1alpha1.CauseRefused)}, "Correct the scheme or the port of the URL."},
		"something else":            {nil, other},
	} {
		if got := remedy(&runnerv1alpha1.Report{Failures: tc.failures}); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
