package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// timed is one of the report's times.
type timed struct {
	name   string
	json   string // its field of the report
	class  string // of its curve; empty: it has none
	times  *runnerv1alpha1.Times
	stored *runnerv1alpha1.Histogram // empty if the report has none
	h      *histogram.H              // nil: the report has lost it, or never had it
}

// timesOf lists the times of a report. It does not decode their distributions.
func timesOf(r *runnerv1alpha1.Report) []timed {
	h := r.Histograms
	if h == nil {
		h = &runnerv1alpha1.ReportHistograms{}
	}
	return []timed{
		{"response time", "responseTime", "c1", &r.ResponseTime, &h.ResponseTime, nil},
		{"successful", "successfulResponseTime", "c3", &r.SuccessfulResponseTime, &h.SuccessfulResponseTime, nil},
		{"service time", "serviceTime", "c2", &r.ServiceTime, &h.ServiceTime, nil},
		{"first byte", "timeToFirstByte", "", &r.TimeToFirstByte, &h.TimeToFirstByte, nil},
		{"lag", "lag", "", &r.Lag, &h.Lag, nil},
		{"reconnecting", "reconnecting", "", &r.Reconnecting, &h.Reconnecting, nil},
		{"blocked", "blocked", "", &r.Blocked, &h.Blocked, nil},
		{"connect", "connect", "", &r.Connect, &h.Connect, nil},
	}
}

// distributions reads the histograms. A report may have none; one that cannot be read is an error.
func distributions(r *runnerv1alpha1.Report) ([]timed, error) {
	out := timesOf(r)
	for i := range out {
		of := &out[i]
		if of.stored.Count+of.stored.Unanswered == 0 {
			continue
		}
		h, err := histogram.Decode(*of.stored)
		if err != nil {
			return nil, fmt.Errorf("histogram of %s: %w", of.name, err)
		}
		of.h = h
	}
	return out, nil
}

// maxDecades bounds the axis of quantiles: 99.9999%.
const maxDecades = 6

// distributionPlot shows the response time, that of successful requests and the service time. It is nil when there is
// nothing to draw.
func distributionPlot(r *runnerv1alpha1.Report, all []timed) *plot {
	p := drawDistributions(all[:3])
	if p == nil {
		return nil
	}
	for _, t := range timeLimits(r, runnerv1alpha1.MetricResponseTime, runnerv1alpha1.MetricServiceTime) {
		p.addLimit(t.us, t.name, "p"+percent(t.q)+" "+micro(int64(t.us)))
	}
	p.Desc = fmt.Sprintf("Response times of the slowest requests. Response time: p50 %s, p99 %s, p99.9 %s, maximum %s.",
		micro(r.ResponseTime.P50), micro(r.ResponseTime.P99), micro(r.ResponseTime.P999), micro(r.ResponseTime.Max))
	return p
}

// drawDistributions has 1/(1-q) on a logarithmic axis, because it shows the slowest requests. It is nil when there is
// nothing to draw.
func drawDistributions(all []timed) *plot {
	var shown []timed
	var values int64
	least, most := int64(math.MaxInt64), int64(0)
	for _, d := range all {
		if d.h == nil {
			continue
		}
		shown = append(shown, d)
		values = max(values, d.h.Count()+d.h.Unanswered())
		least, most = min(least, int64(drawnAt(float64(d.h.Quantile(0))))),
			max(most, int64(drawnAt(float64(d.h.Quantile(1)))))
	}
	if len(shown) == 0 {
		return nil
	}
	p := &plot{ID: "distribution", Title: "Percentile distribution", Unit: "logarithmic", Along: "percentile"}
	decades := min(max(math.Log10(float64(values)), 1), maxDecades)
	p.setX(scale{max: decades}, quantileTicks(decades), func(v float64) string { return percent(1 - math.Pow(10, -v)) })
	p.setTimes(float64(least), float64(most))
	for _, d := range shown {
		p.Series = append(p.Series, series{Name: d.name, Class: d.class, Path: quantiles(p, d.h, decades)})
	}
	return p
}

// quantileTicks are 0, 50 and 90%, and one for each nine.
func quantileTicks(decades float64) []float64 {
	out := []float64{0, math.Log10(2)}
	for d := 1.0; d <= decades+1e-9; d++ {
		out = append(out, d)
	}
	return out
}

// quantiles is the curve at every second unit of the plot.
func quantiles(p *plot, h *histogram.H, decades float64) string {
	const steps = (plotRight - plotLeft) / 2
	own := min(decades, math.Log10(float64(h.Count()+h.Unanswered())))
	var d path
	for i := range steps + 1 {
		v := own * float64(i) / steps
		d.to(p.x.at(v), p.y.at(drawnAt(float64(h.Quantile(1-math.Pow(10, -v))))))
	}
	return d.String()
}

// drawnAt is where a value is drawn. A time that was not measured, because there was no response, is drawn at its
// limit.
func drawnAt(v float64) float64 {
	if limit, is := runnerv1alpha1.LimitOf(int64(v)); is {
		return float64(limit)
	}
	return v
}

// percent writes a quantile: "99.9".
func percent(q float64) string { return strconv.FormatFloat(math.Round(q*1e8)/1e6, 'f', -1, 64) }

// timeLimit is a threshold that can be drawn.
type timeLimit struct {
	name  string
	q, us float64
}

// timeLimits are the greatest times that thresholds on the metrics of the whole run allow.
func timeLimits(r *runnerv1alpha1.Report, metrics ...runnerv1alpha1.Metric) (out []timeLimit) {
	for i := range r.Verdict.Thresholds {
		t := &r.Verdict.Thresholds[i]
		for _, m := range metrics {
			text, isMax := strings.CutPrefix(t.Limit, "<= ")
			limit, err := time.ParseDuration(text)
			q, errQ := runnerv1alpha1.ParsePercentile(t.Percentile)
			if t.Metric == m && t.Of == (runnerv1alpha1.Selector{}) && isMax && err == nil && errQ == nil {
				out = append(out, timeLimit{t.Name, q, float64(limit.Microseconds())})
			}
		}
	}
	return out
}
