package render

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// otlpMetrics decodes the request with the types of OpenTelemetry. Unknown fields are errors.
func otlpMetrics(t *testing.T, r *runnerv1alpha1.Report) map[string]*metricsv1.Metric {
	t.Helper()
	out := map[string]*metricsv1.Metric{}
	for _, of := range otlpResources(t, OTLPSource{}, r) {
		for _, m := range of.GetScopeMetrics()[0].GetMetrics() {
			if out[m.GetName()] != nil || m.GetDescription() == "" {
				t.Errorf("%s is there twice, or has no description", m.GetName())
			}
			out[m.GetName()] = m
		}
	}
	return out
}

func otlpResources(t *testing.T, of OTLPSource, r *runnerv1alpha1.Report) []*metricsv1.ResourceMetrics {
	t.Helper()
	var b bytes.Buffer
	if err := of.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	var parsed metricsv1.MetricsData
	if err := protojson.Unmarshal(b.Bytes(), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed.GetResourceMetrics()
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
	r.Observations = []runnerv1alpha1.ObservationResult{
		{Name: "cpu", Unit: "Cores", Series: []runnerv1alpha1.SeriesResult{{Figures: runnerv1alpha1.SeriesFigures{Samples: 2, Mean: 1.5, P95: 2, Max: 2}, Points: []runnerv1alpha1.Point{{Mean: 1}, {Mean: 2}}}}},
		{Name: "memory", Unit: "Bytes", Series: []runnerv1alpha1.SeriesResult{{Label: "pod=a", Points: []runnerv1alpha1.Point{{Mean: 3}}}}},
	}
	r.Stages = []runnerv1alpha1.StageResult{
		{Name: "warm", WarmUp: true, Sent: 8},
		{Name: "high", Sent: 2000, Dropped: 3, Figures: &runnerv1alpha1.StageFigures{Succeeded: 1990, InFlightAtEnd: 4}},
	}
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
		"h2surge.stage.requests":     {"stage=high outcome=succeeded": 1990, "stage=high outcome=failed": 6, "stage=high outcome=dropped": 3},
		"h2surge.observation": {
			"observation=cpu unit=Cores figure=mean": 1.5, "observation=cpu unit=Cores figure=p95": 2, "observation=cpu unit=Cores figure=max": 2,
			"observation=cpu unit=Cores figure=last": 2, "observation=memory series=pod=a unit=Bytes figure=last": 3,
		},
		"h2surge.verdict": {"outcome=Passed reason=Passed": 1},
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
	h := all["h2surge.response_time"].GetExponentialHistogram().GetDataPoints()[0]
	var n, below uint64
	for i, c := range h.GetPositive().GetBucketCounts() {
		n += c
		if upper := int(h.GetPositive().GetOffset()) + i + 1; upper == -69 { // 2^(-69/8) s are 2.53 ms
			below = n
		}
	}
	// The times are 1000 + i*i/100 for i up to 1999: 392 are at most 2532 us. A bucket of the report is 0.1% wide.
	if n != 2000 || h.GetCount() != 2000 || h.GetScale() != 3 || h.GetMax() != float64(r.ResponseTime.Max)/1e6 || below < 391 || below > 393 {
		t.Errorf("%d of %d values up to 2.5 ms: %v", below, n, h)
	}
	if m := all["h2surge.lag"]; m != nil {
		t.Errorf("a time that was not measured has a histogram: %v", m)
	}
}

// TestOTLPOfShard: what can decrease is not in the counters of a shard that runs, and each resource says what it is of.
func TestOTLPOfShard(t *testing.T) {
	r := measuredReport("core/a", 1)
	r.Chains.Unfinished, r.Steps[0].InFlightAtEnd, r.StartTime, r.EndTime = 3, 2, "", ""
	r.Stages = []runnerv1alpha1.StageResult{{Name: "high", Figures: &runnerv1alpha1.StageFigures{}}}
	at := time.Unix(1767319445, 0)
	got := otlpResources(t, OTLPSource{Shard: "1", Pod: "a-1-xyz", From: at, To: at.Add(2 * time.Second), Running: true}, r)
	var resources []map[string]string
	for _, of := range got {
		resources = append(resources, map[string]string{})
		for _, a := range of.GetResource().GetAttributes() {
			resources[len(resources)-1][a.GetKey()] = a.GetValue().GetStringValue()
		}
	}
	run := map[string]string{"service.name": "h2surge", "service.instance.id": "core/a/1", "service.version": r.Version,
		"h2surge.loadtest": "core/a", "h2surge.shard": "1", "k8s.pod.name": "a-1-xyz"}
	stage := maps.Clone(run)
	stage["h2surge.stage"] = "high"
	if diff := cmp.Diff([]map[string]string{run, stage}, resources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, m := range got[0].GetScopeMetrics()[0].GetMetrics() {
		points := append(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()...)
		for key := range numbers(t, points) {
			for _, not := range []string{"in_flight", "unfinished", "asked"} {
				if strings.Contains(key, not) {
					t.Errorf("%s has %s", m.GetName(), key)
				}
			}
		}
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
