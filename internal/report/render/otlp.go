package render

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
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
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Unit        string         `json:"unit,omitempty"`
		Sum         *otlpSum       `json:"sum,omitempty"`
		Gauge       *otlpGauge     `json:"gauge,omitempty"`
		Histogram   *otlpHistogram `json:"histogram,omitempty"`
	}
	otlpSum struct {
		DataPoints             []otlpPoint `json:"dataPoints"`
		AggregationTemporality int         `json:"aggregationTemporality"`
		IsMonotonic            bool        `json:"isMonotonic"`
	}
	otlpGauge struct {
		DataPoints []otlpPoint `json:"dataPoints"`
	}
	otlpHistogram struct {
		DataPoints             []otlpPoint `json:"dataPoints"`
		AggregationTemporality int         `json:"aggregationTemporality"`
	}
	// otlpPoint is a NumberDataPoint or a HistogramDataPoint.
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
		BucketCounts      []string        `json:"bucketCounts,omitempty"`
		ExplicitBounds    []float64       `json:"explicitBounds,omitempty"`
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

// otlpBounds are the upper bounds of the buckets in microseconds, as in the metrics of runners.
var otlpBounds = []int64{100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
	1_000_000, 2_500_000, 5_000_000, 10_000_000}

// OTLP writes the figures of the report as an export request of OpenTelemetry metrics, in JSON. Sums and histograms
// are cumulative since the start of the run, and all points have the time of its end.
func OTLP(w io.Writer, r *runnerv1alpha1.Report) error {
	from, errFrom := time.Parse(time.RFC3339, r.StartTime)
	to, errTo := time.Parse(time.RFC3339, r.EndTime)
	if errFrom != nil || errTo != nil {
		return fmt.Errorf("writing the report as OTLP: the run did not start")
	}
	p := points{common: attributes("loadtest", r.Name), from: nanos(from), to: nanos(to)}
	if err := p.report(r); err != nil {
		return fmt.Errorf("writing the report as OTLP: %w", err)
	}
	out := otlpRequest{[]otlpResourceMetrics{{
		Resource: otlpResource{attributes("service.name", "h2surge", "service.instance.id", r.Name,
			"service.version", r.Version)},
		ScopeMetrics: []otlpScopeMetrics{{Scope: otlpScope{"h2surge", r.Version}, Metrics: p.metrics}},
	}}}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("writing the report as OTLP: %w", err)
	}
	return nil
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

// points collects metrics.
type points struct {
	common   []otlpAttribute
	from, to string
	metrics  []otlpMetric
}

func (p *points) point(pairs ...string) otlpPoint {
	return otlpPoint{Attributes: append(slices.Clone(p.common), attributes(pairs...)...), StartTimeUnixNano: p.from,
		TimeUnixNano: p.to}
}

func (p *points) count(n int64, pairs ...string) otlpPoint {
	out, text := p.point(pairs...), decimal(n)
	out.AsInt = &text
	return out
}

func (p *points) value(v float64, pairs ...string) otlpPoint {
	out := p.point(pairs...)
	double := otlpDouble(v)
	out.AsDouble = &double
	return out
}

func (p *points) sum(name, unit, description string, of ...otlpPoint) {
	if len(of) > 0 {
		p.metrics = append(p.metrics, otlpMetric{Name: name, Unit: unit, Description: description,
			Sum: &otlpSum{of, cumulative, true}})
	}
}

func (p *points) gauge(name, unit, description string, of ...otlpPoint) {
	p.metrics = append(p.metrics, otlpMetric{Name: name, Unit: unit, Description: description, Gauge: &otlpGauge{of}})
}

func (p *points) report(r *runnerv1alpha1.Report) error {
	p.sum("h2surge.requests", "{request}",
		"Requests of measured stages by outcome. Requests that were never sent have the outcome dropped and no step.",
		p.outcomes(r)...)
	p.sum("h2surge.events", "{request}",
		"Requests and responses of measured stages that are of interest apart from their outcome.", p.events(r)...)
	var codes []otlpPoint
	for _, code := range slices.Sorted(maps.Keys(r.StatusCodes)) {
		codes = append(codes, p.count(r.StatusCodes[code], "code", code))
	}
	p.sum("h2surge.responses", "{response}", "Final responses by status code.", codes...)
	p.sum("h2surge.chains", "{chain}", "Chain instances by outcome.",
		p.count(r.Chains.Completed, "outcome", "completed"), p.count(r.Chains.Aborted, "outcome", "aborted"),
		p.count(r.Chains.Unfinished, "outcome", "unfinished"))
	p.sum("h2surge.connections.opened", "{connection}", "Connections opened.", p.count(r.Generator.Connects))
	p.sum("h2surge.cpu.time", "s", "User and system time of all runners.", p.value(r.CPUSeconds))
	p.gauge("h2surge.rate", "{request}/s",
		"Requests per second over the measured stages: asked for (0: closed loop) and achieved.",
		p.value(r.Rate.Asked, "rate", "asked"), p.value(r.Rate.Achieved, "rate", "achieved"))
	p.gauge("h2surge.error_rate", "1", "1 - succeeded / (sent + dropped).", p.value(float64(r.ErrorRate)))
	if o := string(r.Verdict.Outcome); o != "" {
		p.gauge("h2surge.verdict", "", "Always 1; the attributes are the outcome and the reason of the verdict.",
			p.count(1, "outcome", o, "reason", r.Verdict.Reason))
	}
	return p.times(r)
}

func (p *points) outcomes(r *runnerv1alpha1.Report) (out []otlpPoint) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Phase != runnerv1alpha1.PhaseLoad {
			continue // it counts nothing
		}
		for _, c := range s.Ends() {
			out = append(out, p.count(*c.N, "chain", s.Chain, "step", s.Step, "outcome", c.Words("_")))
		}
	}
	return append(out, p.count(r.Requests.Dropped, "outcome", "dropped"))
}

// events are those that happened.
func (p *points) events(r *runnerv1alpha1.Report) (out []otlpPoint) {
	for s := range stepsOf(r) {
		for _, n := range s.StepEvents.Counts() {
			if *n.N > 0 {
				out = append(out, p.count(*n.N, "chain", s.Chain, "step", s.Step, "event",
					build.StepEvents[n.Name].Metric))
			}
		}
	}
	return out
}

// otlpTimes are the names of the times, in the order of timesOf.
var otlpTimes = [...]string{"response_time", "successful_response_time", "service_time", "time_to_first_byte", "lag",
	"reconnecting", "blocked", "connect"}

// times writes a histogram of each time, and exact percentiles, because its buckets are wide.
func (p *points) times(r *runnerv1alpha1.Report) error {
	all, err := distributions(r)
	if err != nil {
		return err
	}
	var exact []otlpPoint
	for i, d := range all {
		if d.times.Count == 0 {
			continue
		}
		for _, of := range []struct {
			name string
			us   int64
		}{{"p50", d.times.P50}, {"p90", d.times.P90}, {"p95", d.times.P95}, {"p99", d.times.P99},
			{"p99.9", d.times.P999}, {"max", d.times.Max}} {
			exact = append(exact, p.value(inSeconds(of.us), "time", otlpTimes[i], "percentile", of.name))
		}
		if d.h != nil {
			p.metrics = append(p.metrics, otlpMetric{
				Name: "h2surge." + otlpTimes[i], Unit: "s", Description: "Distribution of the " + d.name + ".",
				Histogram: &otlpHistogram{[]otlpPoint{p.distribution(d.h)}, cumulative},
			})
		}
	}
	if len(exact) > 0 {
		p.gauge("h2surge.percentile", "s", "Percentiles of the times, exact to 0.1%.", exact...)
	}
	if phases := p.phases(r); len(phases) > 0 {
		p.gauge("h2surge.phase", "s", "Percentiles of the phases of connections and requests to a target, exact to 0.1%.",
			phases...)
	}
	return nil
}

// phases are the percentiles of the phases of each target.
func (p *points) phases(r *runnerv1alpha1.Report) (out []otlpPoint) {
	for i := range r.Targets {
		t := &r.Targets[i]
		for _, of := range append(connectionPhases(t), requestPhases(t)...) {
			for _, v := range []struct {
				name string
				us   int64
			}{{"p50", of.times.P50}, {"p90", of.times.P90}, {"p99", of.times.P99}, {"max", of.times.Max}} {
				out = append(out, p.value(inSeconds(v.us), "target", t.Name, "phase", of.label, "percentile", v.name))
			}
		}
	}
	return out
}

func (p *points) distribution(h *histogram.H) otlpPoint {
	out := p.point()
	all := h.Count() + h.Unanswered()
	out.Count = decimal(all)
	sum, least, most := float64(h.Sum())/1e6, inSeconds(h.Min()), inSeconds(h.Max())
	out.Sum, out.Min, out.Max = &sum, &least, &most
	var below int64
	for _, bound := range otlpBounds {
		n := h.Below(bound)
		out.BucketCounts, below = append(out.BucketCounts, decimal(n-below)), n
		out.ExplicitBounds = append(out.ExplicitBounds, inSeconds(bound))
	}
	// Requests without a response are longer than every bound.
	out.BucketCounts = append(out.BucketCounts, decimal(all-below))
	if h.Unanswered() > 0 {
		out.Max = nil
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
