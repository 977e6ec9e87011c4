//go:build prometheus

package prometheus

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/prometheus/lab"
)

// story is a run that two servers have scraped: one takes classic histograms, one native ones.
type story struct {
	servers  map[string]*lab.Server
	report   *rv.Report
	from, to time.Time
}

// TestScrape runs a test of 15 seconds and asks what two servers have seen of it.
func TestScrape(t *testing.T) {
	s := tell(t)
	for name, server := range s.servers {
		t.Run(name, func(t *testing.T) {
			t.Run("quantiles", func(t *testing.T) { s.quantiles(t, server, name) })
			t.Run("figures", func(t *testing.T) { s.figures(t, server) })
			t.Run("labels", func(t *testing.T) { s.labels(t, server) })
			t.Run("dashboards", func(t *testing.T) { s.dashboards(t, server) })
			t.Run("alerts", func(t *testing.T) { s.alerts(t, server) })
		})
	}
}

func tell(t *testing.T) *story {
	t.Helper()
	x := prepare(t, func(*v1alpha1.LoadTestSpec) {})
	o := startOperator(t, types.NamespacedName{Namespace: "core", Name: "app-sessions"})
	config := configuration(t, x, o)
	s := &story{servers: map[string]*lab.Server{
		"classic": lab.Start(t, lab.Packaged, config), "native": lab.Start(t, lab.Packaged, config, lab.Native),
	}, from: time.Now()}
	scraped(t, s, `h2surge_loadtest_phase{phase="Pending"}`)
	o.observe(v1alpha1.PhaseStarting, nil)
	s.report = x.run(t, o)
	// The last values are there when the end is, since they were before.
	scraped(t, s, `h2surge_loadtest_verdict`)
	scraped(t, s, fmt.Sprintf("sum(h2surge_runner_requests_sent_total) == %d", s.report.Requests.Sent))
	s.to = time.Now().Add(time.Second) // the last step of a range query is at or before it
	t.Logf("FIGURE %d requests, %.0f a second, lag p99 %d us with a scrape each half second; verdict %s", s.report.Requests.Sent,
		s.report.Rate.Achieved, s.report.Lag.P99, s.report.Verdict.Outcome)
	return s
}

func scraped(t *testing.T, s *story, query string) {
	t.Helper()
	for name, server := range s.servers {
		lab.Await(t, name+": "+query, func() bool { _, ok := server.Now(t, query); return ok })
	}
}

// configuration scrapes as the chart's monitors do, but for discovery: the labels that it would find stand here.
func configuration(t *testing.T, x *execution, o *operator) map[string]any {
	t.Helper()
	var runners []map[string]any
	for i, address := range x.addresses {
		runners = append(runners, map[string]any{"targets": []string{address}, "labels": map[string]string{
			"namespace": "core", "pod": "app-sessions-1-" + strconv.Itoa(i) + "-x7k2p", "container": "runner",
			"__meta_kubernetes_pod_label_h2surge_io_loadtest":                           "app-sessions",
			"__meta_kubernetes_pod_annotation_batch_kubernetes_io_job_completion_index": strconv.Itoa(i),
		}})
	}
	return map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{rulesFile(t, t.TempDir())},
		"scrape_configs": []map[string]any{
			{"job_name": "runners", "static_configs": runners, "relabel_configs": lab.Relabelings(t)},
			{"job_name": "operator", "honor_labels": true, "static_configs": []map[string]any{
				{"targets": []string{o.url}, "labels": map[string]string{"namespace": lab.OperatorNamespace}},
			}},
		},
	}
}

func (s *story) quantiles(t *testing.T, server *lab.Server, kind string) {
	rows := map[string]*rv.Times{"": &s.report.ResponseTime}
	for i := range s.report.Steps {
		step := &s.report.Steps[i]
		rows[fmt.Sprintf(`{chain=%q,step=%q}`, step.Chain, step.Step)] = &step.ResponseTime
	}
	for selector, times := range rows {
		for q, us := range map[string]int64{"0.5": times.P50, "0.9": times.P90, "0.95": times.P95, "0.99": times.P99, "0.999": times.P999} {
			expr := "histogram_quantile(" + q + ", sum(h2surge_runner_response_time_seconds" + selector + "))"
			if kind == "classic" {
				expr = "histogram_quantile(" + q + ", sum by (le) (h2surge_runner_response_time_seconds_bucket" + selector + "))"
			}
			got, ok := server.Now(t, expr)
			want := float64(us) / 1e6
			if !ok || !lab.Agree(kind == "native", got, want) {
				t.Errorf("%s is %v, the report has %v", expr, got, want)
			}
			if q == "0.99" {
				t.Logf("FIGURE %s p99%s: report %.4g ms, Prometheus %.4g ms", kind, selector, want*1e3, got*1e3)
			}
		}
	}
}

// figures that need no buckets are the same.
func (s *story) figures(t *testing.T, server *lab.Server) {
	r := s.report
	for query, want := range map[string]float64{
		`sum(h2surge_runner_requests_sent_total)`:                                  float64(r.Requests.Sent),
		`sum(h2surge_runner_requests_total{outcome="succeeded"})`:                  float64(r.Requests.Succeeded),
		`sum(h2surge_runner_failed_checks_total)`:                                  float64(r.Requests.FailedChecks),
		`sum(h2surge_runner_problem_causes_total{cause="NOT_AUTHORIZED"})`:         float64(r.Causes["NOT_AUTHORIZED"]),
		`sum(h2surge_runner_warm_up_requests_sent_total)`:                          float64(r.WarmUp.Sent),
		`h2surge_loadtest_requests_sent_total{loadtest="app-sessions"}`:            float64(r.Requests.Sent),
		`h2surge_loadtest_response_time_seconds{percentile="50"}`:                  float64(r.ResponseTime.P50) / 1e6,
		`h2surge_loadtest_response_time_seconds{percentile="99"}`:                  float64(r.ResponseTime.P99) / 1e6,
		`h2surge_loadtest_rate_requests_per_second`:                                r.Rate.Achieved,
		`h2surge_loadtest_error_ratio`:                                             float64(r.ErrorRate),
		`h2surge_loadtest_runs_total{outcome="` + string(r.Verdict.Outcome) + `"}`: 1,
		`h2surge_loadtest_verdict{namespace="core",loadtest="app-sessions"}`:       1,
	} {
		if got, ok := server.Now(t, query); !ok || math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, the report has %v", query, got, want)
		}
	}
	if got, ok := server.Now(t, `h2surge_loadtest_duration_seconds`); !ok || got < 15 || got > 30 {
		t.Errorf("the run took %v seconds", got)
	}
}

// labels: a rerun continues the series, so nothing of a pod is in them.
func (s *story) labels(t *testing.T, server *lab.Server) {
	for _, series := range server.Over(t, "h2surge_runner_workers", s.from, s.to) {
		delete(series.Metric, "__name__")
		want := fmt.Sprintf("map[instance:app-sessions/%s job:runners loadtest:app-sessions namespace:core shard:%[1]s]", series.Metric["shard"])
		if got := fmt.Sprint(series.Metric); got != want {
			t.Errorf("labels %s, want %s", got, want)
		}
	}
}

func (s *story) dashboards(t *testing.T, server *lab.Server) {
	all := queries(t)
	for _, q := range all {
		if !slices.ContainsFunc(server.Over(t, q.expr, s.from, s.to), lab.Series.Data) {
			t.Errorf("%s, %s: no data for %s", q.board, q.panel, q.expr)
		}
	}
	t.Logf("FIGURE %d queries of the dashboards have data", len(all))
}

// selected are the series that an expression is about.
var selected = regexp.MustCompile(`\b(?:h2surge|controller_runtime|leader_election)_[a-z0-9_]+(?:\{[^}]*\})?`)

// alerts: every expression is about series that there are, and the run with its many errors has raised one.
func (s *story) alerts(t *testing.T, server *lab.Server) {
	var groups ruleGroups
	lab.Object(t, "PrometheusRule", &groups)
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			found := selected.FindAllString(r.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s is about no series", r.Alert)
			}
			for _, series := range found {
				if !slices.ContainsFunc(server.Over(t, series, s.from, s.to), lab.Series.Data) {
					t.Errorf("%s: there is no series %s", r.Alert, series)
				}
			}
		}
	}
	if raised := server.Over(t, `ALERTS{alertname="H2surgeErrorRatio",namespace="core",loadtest="app-sessions"}`, s.from, s.to); len(raised) == 0 {
		t.Error("a run with many errors has raised no alert")
	}
}
