package render

import (
	"maps"
	"slices"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/internal/report/build"
)

// points collects metrics.
type points struct {
	common   []otlpAttribute
	from, to string
	// running is as in OTLPSource.
	running bool
	metrics []otlpMetric
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
			Sum: &otlpData{of, cumulative, true}})
	}
}

func (p *points) gauge(name, unit, description string, of ...otlpPoint) {
	p.metrics = append(p.metrics, otlpMetric{Name: name, Unit: unit, Description: description,
		Gauge: &otlpData{DataPoints: of}})
}

// report adds the figures of the run. The desired rate and the verdict are figures of all shards.
func (p *points) report(r *runnerv1alpha1.Report, ofAll bool) error {
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
	chains := []otlpPoint{p.count(r.Chains.Completed, "outcome", "completed"),
		p.count(r.Chains.Aborted, "outcome", "aborted")}
	if !p.running {
		chains = append(chains, p.count(r.Chains.Unfinished, "outcome", "unfinished"))
	}
	p.sum("h2surge.chains", "{chain}", "Chain instances by outcome.", chains...)
	p.sum("h2surge.connections.opened", "{connection}", "Connections opened.", p.count(r.Generator.Connects))
	p.sum("h2surge.cpu.time", "s", "User and system time of all runners.", p.value(r.CPUSeconds))
	rates := []otlpPoint{p.value(r.Rate.Achieved, "rate", "achieved")}
	if ofAll {
		rates = append(rates, p.value(r.Rate.Asked, "rate", "asked"))
	}
	p.gauge("h2surge.rate", "{request}/s",
		"Requests per second over the measured stages: asked for (0: closed loop) and achieved.", rates...)
	p.gauge("h2surge.error_rate", "1", "1 - succeeded / (sent + dropped).", p.value(float64(r.ErrorRate)))
	if o := string(r.Verdict.Outcome); o != "" {
		p.gauge("h2surge.verdict", "", "Always 1; the attributes are the outcome and the reason of the verdict.",
			p.count(1, "outcome", o, "reason", r.Verdict.Reason))
	}
	if observed := p.observations(r); len(observed) > 0 {
		p.gauge("h2surge.observation", "",
			"Figures of observations over the measured stages, in their units: mean, p95, max, and the last sample.", observed...)
	}
	return p.times(r)
}

func (p *points) observations(r *runnerv1alpha1.Report) (out []otlpPoint) {
	for i := range r.Observations {
		o := &r.Observations[i]
		for k := range o.Series {
			s := &o.Series[k]
			add := func(figure string, v float64) {
				out = append(out, p.value(v, "observation", o.Name, "series", s.Label, "unit", o.Unit, "figure", figure))
			}
			if f := &s.Figures; f.Samples > 0 {
				add("mean", f.Mean)
				add("p95", f.P95)
				add("max", f.Max)
			}
			if n := len(s.Points); n > 0 {
				add("last", s.Points[n-1].Mean)
			}
		}
	}
	return out
}

func (p *points) outcomes(r *runnerv1alpha1.Report) (out []otlpPoint) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Phase != runnerv1alpha1.PhaseLoad {
			continue // it counts nothing
		}
		ends := s.Ends()
		if p.running {
			ends = ends[:len(ends)-1]
		}
		for _, c := range ends {
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

// times writes a histogram of each time, and percentiles, because they are more exact than its buckets.
func (p *points) times(r *runnerv1alpha1.Report) error {
	all, err := distributions(r)
	if err != nil {
		return err
	}
	var exact []otlpPoint
	for _, d := range all {
		if d.times.Count == 0 {
			continue
		}
		name := runnerv1alpha1.Count{Name: d.json}.Words("_")
		for _, of := range []struct {
			name string
			us   int64
		}{{"p50", d.times.P50}, {"p90", d.times.P90}, {"p95", d.times.P95}, {"p99", d.times.P99},
			{"p99.9", d.times.P999}, {"max", d.times.Max}} {
			exact = append(exact, p.value(inSeconds(of.us), "time", name, "percentile", of.name))
		}
		if d.h != nil {
			p.metrics = append(p.metrics, otlpMetric{
				Name: "h2surge." + name, Unit: "s", Description: "Distribution of the " + d.name + ".",
				Histogram: &otlpData{DataPoints: []otlpPoint{p.distribution(d.h)}, AggregationTemporality: cumulative},
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

// stage adds the requests of a measured stage.
func (p *points) stage(s *runnerv1alpha1.StageResult) {
	f := s.Figures
	if f == nil {
		return
	}
	of := func(outcome string, n int64) otlpPoint { return p.count(n, "stage", s.Name, "outcome", outcome) }
	p.sum("h2surge.stage.requests", "{request}",
		"Requests of a measured stage by outcome. A request belongs to the stage of its scheduled time.",
		of("succeeded", f.Succeeded), of("failed", s.Sent-f.InFlightAtEnd-f.Succeeded), of("dropped", s.Dropped))
}

// aboveAll is the bucket above those of all measured times. Requests without a response are in it, because they are
// longer than every measured time.
const aboveAll = 96

func (p *points) distribution(h *histogram.H) otlpPoint {
	out := p.point()
	out.Count = decimal(h.Count() + h.Unanswered())
	sum, least, most := float64(h.Sum())/1e6, inSeconds(h.Min()), inSeconds(h.Max())
	out.Sum, out.Max = &sum, &most
	if h.Count() > 0 {
		out.Min = &least
	}
	buckets, zeros := h.Exponential()
	if n := h.Unanswered(); n > 0 {
		buckets[aboveAll] += n
		out.Max = nil
	}
	out.Scale, out.ZeroCount, out.ZeroThreshold = histogram.ExponentialScale, decimal(int64(zeros)),
		histogram.ExponentialZero
	if len(buckets) == 0 {
		return out
	}
	numbers := slices.Sorted(maps.Keys(buckets))
	// OTLP numbers a bucket by its lower bound.
	out.Positive = &otlpBuckets{Offset: numbers[0] - 1}
	for i := numbers[0]; i <= numbers[len(numbers)-1]; i++ {
		out.Positive.BucketCounts = append(out.Positive.BucketCounts, decimal(buckets[i]))
	}
	return out
}
