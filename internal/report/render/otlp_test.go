package render

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// otlpMetrics decodes the request with the types of OpenTelemetry. Unknown fields are errors.
func otlpMetrics(t *testing.T, r *runnerv1alpha1.Report) map[string]*metricsv1.Metric {
	t.Helper()
	var b bytes.Buffer
	if err := OTLP(&b, r); err != nil {
		t.Fatal(err)
	}
	var parsed metricsv1.MetricsData
	if err := protojson.Unmarshal(b.Bytes(), &parsed); err != nil {
		t.Fatal(err)
	}
	out := map[string]*metricsv1.Metric{}
	for _, m := range parsed.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		if out[m.GetName()] != nil || m.GetDescription() == "" {
			t.Errorf("%s is there twice, or has no description", m.GetName())
		}
		out[m.GetName()] = m
	}
	return out
}

// numbers are the values of points, by their attributes without the name of the test.
func numbers(t *testing.T, points []*metricsv1.NumberDataPoint) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, p := range points {
		var key []string
		for _, a := range p.GetAttributes() {
			if a.GetKey() == "loadtest" {
				continue
			}
			key = append(key, a.GetKey()+"="+a.GetValue().GetStringValue())
		}
		if p.GetStartTimeUnixNano() != 1767319445000000000 || p.GetTimeUnixNano() != 1767319447000000000 {
			t.Errorf("%v is from %d to %d", key, p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
		}
		out[strings.Join(key, " ")] = float64(p.GetAsInt()) + p.GetAsDouble()
	}
	return out
}

func TestOTLP(t *testing.T) {
	r := measuredReport("core/a", 1)
	r.Requests.Dropped, r.Chains.Completed, r.CPUSeconds = 3, 7, 1.5
	r.Steps[0].Retries = 2
	r.Targets = []runnerv1alpha1.TargetResult{{Name: "pcf", Body: runnerv1alpha1.Times{Count: 9, P50: 1, P90: 2, P99: 3, Max: 4}}}
	all := otlpMetrics(t, r)
	sums := map[string]map[string]float64{}
	for name, m := range all {
		if s := m.GetSum(); s != nil {
			if !s.GetIsMonotonic() || s.GetAggregationTemporality() != metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
				t.Errorf("%s is not a cumulative counter", name)
			}
			sums[name] = numbers(t, s.GetDataPoints())
		} else if g := m.GetGauge(); g != nil && name != "h2surge.percentile" {
			sums[name] = numbers(t, g.GetDataPoints())
		}
	}
	want := map[string]map[string]float64{
		"h2surge.requests": {
			"chain=app step=create outcome=succeeded": 2000, "chain=app step=create outcome=failed_checks": 0, "chain=app step=create outcome=timed_out": 0,
			"chain=app step=create outcome=reset": 0, "chain=app step=create outcome=connection_lost": 0, "chain=app step=create outcome=in_flight_at_end": 0, "outcome=dropped": 3,
		},
		"h2surge.events":             {"chain=app step=create event=retries": 2},
		"h2surge.responses":          {"code=200": 2000},
		"h2surge.chains":             {"outcome=completed": 7, "outcome=aborted": 0, "outcome=unfinished": 0},
		"h2surge.connections.opened": {"": 0},
		"h2surge.cpu.time":           {"": 1.5},
		"h2surge.rate":               {"rate=asked": 1000, "rate=achieved": 1000},
		"h2surge.error_rate":         {"": 0},
		"h2surge.verdict":            {"outcome=Passed reason=Passed": 1},
		"h2surge.phase": {
			"target=pcf phase=body percentile=p50": 1e-6, "target=pcf phase=body percentile=p90": 2e-6,
			"target=pcf phase=body percentile=p99": 3e-6, "target=pcf phase=body percentile=max": 4e-6,
		},
	}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p := numbers(t, all["h2surge.percentile"].GetGauge().GetDataPoints())
	if got, want := p["time=response_time percentile=p99"], float64(r.ResponseTime.P99)/1e6; math.Abs(got-want) > 1e-12 {
		t.Errorf("p99 is %v, want %v", got, want)
	}
	h := all["h2surge.response_time"].GetHistogram().GetDataPoints()[0]
	var n uint64
	for _, c := range h.GetBucketCounts() {
		n += c
	}
	// The times are 1000 + i*i/100 for i up to 1999: 10 are at most 1 ms, and 388 at most 2.5 ms. A bucket of the report is 0.1% wide.
	if n != 2000 || h.GetCount() != 2000 || len(h.GetBucketCounts()) != len(h.GetExplicitBounds())+1 || h.GetMax() != float64(r.ResponseTime.Max)/1e6 || h.GetBucketCounts()[4] < 377 || h.GetBucketCounts()[4] > 379 {
		t.Errorf("histogram: %v", h)
	}
	if m := all["h2surge.lag"]; m != nil {
		t.Errorf("a time that was not measured has a histogram: %v", m)
	}
}

// TestDocsOfOTLP: docs/reference/report-formats.md has each metric.
func TestDocsOfOTLP(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/reference/report-formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range otlpMetrics(t, measuredReport("core/a", 1)) {
		if !strings.Contains(string(docs), "`"+name+"`") {
			t.Errorf("docs/reference/report-formats.md does not have %s", name)
		}
	}
}

func TestOTLPErrors(t *testing.T) {
	r := measuredReport("core/a", 1)
	if err := OTLP(fullDisk{}, r); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a full disk: %v", err)
	}
	r.StartTime = ""
	if err := OTLP(&bytes.Buffer{}, r); err == nil || !strings.Contains(err.Error(), "the run did not start") {
		t.Errorf("no start: %v", err)
	}
	var b bytes.Buffer
	if err := OTLP(&b, full()); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("%v, %s", err, b.String())
	}
}
