package v1alpha1

import "testing"

// TestThresholdTextWithoutATime: a time that was not measured lacks a response, or a notification.
func TestThresholdTextWithoutATime(t *testing.T) {
	for want, r := range map[string]ThresholdResult{
		"fast: p99 of ResponseTime > 5s (no response), limit <= 20ms":                            {Metric: MetricResponseTime},
		"fast: p99 of NotificationTime > 5s (no notification), limit <= 20ms":                    {Metric: MetricNotificationTime},
		"fast: p99 of NotificationTime of listener hook > 5s (no notification), limit <= 20ms":   {Metric: MetricNotificationTime, Of: Selector{Listener: "hook"}},
		"fast: p99 of ResponseTime of step c/NotificationTime > 5s (no response), limit <= 20ms": {Metric: MetricResponseTime, Of: Selector{Chain: "c", Step: "NotificationTime"}},
	} {
		r.Name, r.Percentile, r.Limit, r.Observed = "fast", "p99", "<= 20ms", "> 5s"
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
