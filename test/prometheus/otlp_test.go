//go:build prometheus

package prometheus

import (
	"testing"
	"time"

	"github.com/spf13/pflag"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/cli/report"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/test/prometheus/lab"
)

// TestOTLP pushes a report of a run that was shorter than a scrape interval, and queries its figures.
func TestOTLP(t *testing.T) {
	server := lab.Start(t, lab.Built, map[string]any{}, "--web.enable-otlp-receiver")
	var h histogram.H
	for us := range int64(1000) {
		h.Record(us)
	}
	end := time.Now()
	r := &rv.Report{
		Name: "core/short", Version: "v0", StartTime: end.Add(-2 * time.Second).UTC().Format(time.RFC3339Nano), EndTime: end.UTC().Format(time.RFC3339Nano),
		Steps:       []rv.StepResult{{Chain: "app", Step: "create", Outcomes: rv.Outcomes{Sent: 1000, Done: 1000, Succeeded: 990, FailedChecks: 10}}},
		StatusCodes: map[string]int64{"201": 990, "503": 10}, ErrorRate: 0.01, Rate: rv.RateResult{Asked: 500, Achieved: 499.5},
		ResponseTime: h.Times(), Histograms: &rv.ReportHistograms{ResponseTime: h.Encode()},
		Verdict: rv.Verdict{Outcome: rv.OutcomeFailed, Reason: "ThresholdsFailed"},
	}
	var push report.Push
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	push.Register(flags, report.SendsReport)
	must(t, flags.Set("otlp-endpoint", server.URL()+"/api/v1/otlp"))
	must(t, push.Check())
	must(t, push.Send(t.Context(), r))
	for query, want := range map[string]float64{
		`h2surge_requests_total{job="h2surge",loadtest="core/short",chain="app",step="create",outcome="succeeded"}`: 990,
		`sum(h2surge_requests_total)`:                                       1000,
		`h2surge_responses_total{code="503"}`:                               10,
		`h2surge_error_rate_ratio`:                                          0.01,
		`h2surge_rate_per_second{rate="achieved"}`:                          499.5,
		`h2surge_percentile_seconds{time="response_time",percentile="p99"}`: 0.000989,
		`histogram_count(h2surge_response_time_seconds)`:                    1000,
		`histogram_sum(h2surge_response_time_seconds)`:                      0.4995,
		`h2surge_verdict{outcome="Failed",reason="ThresholdsFailed"}`:       1,
	} {
		lab.Await(t, query, func() bool { _, ok := server.Now(t, query); return ok })
		if got, _ := server.Now(t, query); got != want {
			t.Errorf("%s is %v, want %v", query, got, want)
		}
	}
}
