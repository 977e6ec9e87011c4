package render

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
)

// The messages of OTLP in its JSON encoding: ExportMetricsServiceRequest and what it contains. The official exporter
// is not used: it makes each start of h2surge slower, because its generated types register themselves.
type (
	otlpRequest struct {
		ResourceMetrics []otlpResourceMetrics `json:"resourceMetrics"`
	}
	otlpResourceMetrics struct {
		Resource     otlpResource       `json:"resource"`
		ScopeMetrics []otlpScopeMetrics `json:"scopeMetrics"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeMetrics struct {
		Scope   otlpScope    `json:"scope"`
		Metrics []otlpMetric `json:"metrics"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otlpMetric struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Unit        string    `json:"unit,omitempty"`
		Sum         *otlpData `json:"sum,omitempty"`
		Gauge       *otlpData `json:"gauge,omitempty"`
		Histogram   *otlpData `json:"exponentialHistogram,omitempty"`
	}
	// otlpData is a Sum, a Gauge or an ExponentialHistogram.
	otlpData struct {
		DataPoints             []otlpPoint `json:"dataPoints"`
		AggregationTemporality int         `json:"aggregationTemporality,omitempty"`
		IsMonotonic            bool        `json:"isMonotonic,omitempty"`
	}
	// otlpPoint is a NumberDataPoint or an ExponentialHistogramDataPoint.
	otlpPoint struct {
		Attributes        []otlpAttribute `json:"attributes"`
		StartTimeUnixNano string          `json:"startTimeUnixNano"`
		TimeUnixNano      string          `json:"timeUnixNano"`
		AsInt             *string         `json:"asInt,omitempty"`
		AsDouble          *otlpDouble     `json:"asDouble,omitempty"`
		Count             string          `json:"count,omitempty"`
		Sum               *float64        `json:"sum,omitempty"`
		Min               *float64        `json:"min,omitempty"`
		Max               *float64        `json:"max,omitempty"`
		Scale             int             `json:"scale,omitempty"`
		ZeroCount         string          `json:"zeroCount,omitempty"`
		ZeroThreshold     float64         `json:"zeroThreshold,omitempty"`
		Positive          *otlpBuckets    `json:"positive,omitempty"`
	}
	otlpBuckets struct {
		Offset       int      `json:"offset"`
		BucketCounts []string `json:"bucketCounts"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		StringValue string `json:"stringValue"`
	}
)

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE.
const cumulative = 2

// OTLPSource is the process whose figures an export request has, and the time that the figures are of.
type OTLPSource struct {
	// Shard is the number of the shard; empty: the figures are of all shards. Pod is the name of its pod, if it has one.
	Shard, Pod string
	// From and To are the start of the run and the time of the figures; zero: those of the report.
	From, To time.Time
	// Running is true if the run has not ended. What can still decrease is then left out of counters: the requests in
	// flight and the chain instances that run.
	Running bool
}

// OTLP writes the figures of the report as an export request of OpenTelemetry metrics, in JSON. Sums and histograms
// are cumulative since the start of the run, and all points have the time of its end.
func OTLP(w io.Writer, r *runnerv1alpha1.Report) error { return OTLPSource{}.Write(w, r) }

// Write writes the figures of a report on the process, or on the run.
func (o OTLPSource) Write(w io.Writer, r *runnerv1alpha1.Report) error {
	for _, of := range []struct {
		to   *time.Time
		text string
	}{{&o.From, r.StartTime}, {&o.To, r.EndTime}} {
		at, err := time.Parse(time.RFC3339, of.text)
		if of.to.IsZero() && err != nil {
			return fmt.Errorf("writing the report as OTLP: the run did not start")
		}
		if of.to.IsZero() {
			*of.to = at
		}
	}
	out, err := o.request(r)
	if err != nil {
		return fmt.Errorf("writing the report as OTLP: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("writing the report as OTLP: %w", err)
	}
	return nil
}

// request has a resource for the run, and one for each measured stage.
func (o OTLPSource) request(r *runnerv1alpha1.Report) (out otlpRequest, err error) {
	instance := r.Name
	if o.Shard != "" {
		instance += "/" + o.Shard
	}
	resource := attributes("service.name", "h2surge", "service.instance.id", instance, "service.version", r.Version,
		"h2surge.loadtest", r.Name, "h2surge.shard", o.Shard, "k8s.pod.name", o.Pod)
	add := func(stage string, metrics []otlpMetric) {
		out.ResourceMetrics = append(out.ResourceMetrics, otlpResourceMetrics{
			Resource:     otlpResource{append(slices.Clip(resource), attributes("h2surge.stage", stage)...)},
			ScopeMetrics: []otlpScopeMetrics{{Scope: otlpScope{"h2surge", r.Version}, Metrics: metrics}},
		})
	}
	of := points{common: attributes("loadtest", r.Name), from: nanos(o.From), to: nanos(o.To), running: o.Running}
	run := of
	err = run.report(r, o.Shard == "")
	add("", run.metrics)
	for i := range r.Stages {
		stage := of
		if stage.stage(&r.Stages[i]); len(stage.metrics) > 0 {
			add(r.Stages[i].Name, stage.metrics)
		}
	}
	return out, err
}

func nanos(t time.Time) string { return decimal(t.UnixNano()) }

// attributes are pairs of a key and a value. It leaves out an empty value.
func attributes(pairs ...string) (out []otlpAttribute) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, otlpAttribute{pairs[i], otlpValue{pairs[i+1]}})
		}
	}
	return out
}

// otlpDouble is a double in the JSON encoding of protocol buffers.
type otlpDouble float64

// MarshalJSON implements json.Marshaler.
func (d otlpDouble) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(d), 1) {
		return []byte(`"Infinity"`), nil
	}
	return json.Marshal(float64(d))
}

// inSeconds is +Inf for a time that was not measured, because there was no response. Else it has the decimal digits
// of the microseconds: 0.0011, not 0.0011000000000000001.
func inSeconds(us int64) float64 {
	if _, above := runnerv1alpha1.LimitOf(us); above {
		return math.Inf(1)
	}
	v, err := strconv.ParseFloat(decimal(us)+"e-6", 64)
	if err != nil {
		return math.NaN() // a decimal number is always parsed
	}
	return v
}
