package build

import (
	"strconv"
	"testing"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// TestNotificationErrors: a notification that came is never only missing.
func TestNotificationErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		counts runnerv1alpha1.ListenerCounts
		want   string
	}{
		"all in time":        {runnerv1alpha1.ListenerCounts{Received: 200, Awaited: 200, InTime: 200}, ""},
		"none came":          {runnerv1alpha1.ListenerCounts{Awaited: 200, Missing: 200}, "200 missing"},
		"all came late":      {runnerv1alpha1.ListenerCounts{Received: 200, Awaited: 200, Missing: 200, Late: 200}, "200 missing (200 came late)"},
		"late, none missing": {runnerv1alpha1.ListenerCounts{Received: 2, Awaited: 2, WaitingAtEnd: 2, Late: 2}, "2 late, 2 awaited at the end"},
		"another path":       {runnerv1alpha1.ListenerCounts{Received: 200, Awaited: 200, Missing: 200, Unexpected: 200}, "200 missing, 200 unexpected (no step awaited them)"},
		"twice":              {runnerv1alpha1.ListenerCounts{Received: 6, Awaited: 3, InTime: 3, Duplicate: 3, FailedChecks: 1}, "1 failed checks, 3 duplicate"},
		"refused": {
			runnerv1alpha1.ListenerCounts{Received: 5, Awaited: 5, Missing: 5, RefusedToken: 3, RefusedCertificate: 2, FailedHandshakes: 1},
			"5 missing, 3 refused (no valid access token), 2 refused (name of the client certificate), 1 failed handshakes",
		},
	} {
		if got := NotificationErrors(&tt.counts, func(n int64) string { return strconv.FormatInt(n, 10) }); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
