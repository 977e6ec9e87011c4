package verdict

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
)

// comparison is one threshold with the observed value.
type comparison struct {
	result runnerv1alpha1.ThresholdResult
	// limit is the text of the maximum or minimum.
	limit     string
	isMinimum bool
	// unanswered is true if the observed percentile is among requests without a response.
	unanswered bool
}

func compare(thresholds []runnerv1alpha1.Threshold, report *runnerv1alpha1.Report) ([]comparison, error) {
	out := make([]comparison, 0, len(thresholds))
	for i := range thresholds {
		c, err := compareOne(&thresholds[i], report)
		if err != nil {
			return nil, fmt.Errorf("threshold %s: %w", thresholds[i].Name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func compareOne(t *runnerv1alpha1.Threshold, report *runnerv1alpha1.Report) (comparison, error) {
	out := comparison{limit: t.Max + t.Min, isMinimum: t.Max == ""}
	if (t.Max == "") == (t.Min == "") {
		return out, errors.New("exactly one of max and min is needed")
	}
	out.result = runnerv1alpha1.ThresholdResult{Name: t.Name, Metric: t.Metric, Percentile: t.Percentile, Limit: "<= " + t.Max}
	if out.isMinimum {
		out.result.Limit = ">= " + t.Min
	}
	var err error
	switch t.Metric {
	case runnerv1alpha1.MetricErrorRate:
		err = out.errorRate(report)
	case runnerv1alpha1.MetricRate:
		err = out.rate(report)
	default:
		err = out.time(report)
	}
	return out, err
}

func (c *comparison) errorRate(report *runnerv1alpha1.Report) error {
	limit, err := runnerv1alpha1.ParsePercentage(c.limit)
	if err != nil {
		return fmt.Errorf("limit %w", err)
	}
	if report.Requests.Sent+report.Requests.Dropped == 0 {
		c.result.Observed = runnerv1alpha1.ObservedNone
		return nil
	}
	c.number(float64(report.ErrorRate), limit, runnerv1alpha1.FormatPercentage)
	return nil
}

func (c *comparison) rate(report *runnerv1alpha1.Report) error {
	limit, err := strconv.ParseFloat(c.limit, 64)
	if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) {
		return fmt.Errorf("limit %q is not a number", c.limit)
	}
	if report.Rate.WindowSeconds <= 0 {
		c.result.Observed = runnerv1alpha1.ObservedNone
		return nil
	}
	c.number(report.Rate.Achieved, limit, formatNumber)
	return nil
}

// significant is the number of digits of an observed value, if they show on which side of the limit it is.
const significant = 6

// number compares, and writes the observed value with significant digits, or with all of them if rounding would
// move the value to the other side of its limit.
func (c *comparison) number(observed, limit float64, format func(v float64, digits int) string) {
	c.result.Passed = c.accepts(observed, limit)
	digits := significant
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(observed, 'g', digits, 64), 64)
	if err != nil || c.accepts(rounded, limit) != c.result.Passed {
		digits = -1
	}
	c.result.Observed = format(observed, digits)
}

func (c *comparison) accepts(observed, limit float64) bool {
	if c.isMinimum {
		return observed >= limit
	}
	return observed <= limit
}

// formatNumber writes a number with that many significant digits, or with all of them if digits is negative.
func formatNumber(v float64, digits int) string {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64); err == nil {
		v = rounded
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (c *comparison) time(report *runnerv1alpha1.Report) error {
	limit, err := time.ParseDuration(c.limit)
	if err != nil {
		return fmt.Errorf("limit %q is not a duration", c.limit)
	}
	q, err := runnerv1alpha1.ParsePercentile(c.result.Percentile)
	if err != nil {
		return err
	}
	h, err := distribution(c.result.Metric, report)
	if err != nil {
		return err
	}
	if h.Count()+h.Unanswered() == 0 {
		c.result.Observed = runnerv1alpha1.ObservedNone
		return nil
	}
	observed := h.Quantile(q)
	if above, is := runnerv1alpha1.LimitOf(observed); is {
		// A request without a response is longer than every maximum.
		c.unanswered = true
		c.result.Passed, c.result.Observed = c.isMinimum, runnerv1alpha1.AboveText(formatTime(above, c.limit))
		return nil
	}
	// Observed times are whole microseconds. A limit of 1500ns accepts 1us and not 2us.
	c.result.Passed = c.accepts(float64(observed), float64(limit)/float64(time.Microsecond))
	c.result.Observed = formatTime(observed, c.limit)
	return nil
}

func distribution(m runnerv1alpha1.Metric, report *runnerv1alpha1.Report) (*histogram.H, error) {
	all := report.Histograms
	if all == nil {
		return nil, errors.New("the report has no histograms")
	}
	switch m {
	case runnerv1alpha1.MetricResponseTime:
		return histogram.Decode(all.ResponseTime)
	case runnerv1alpha1.MetricServiceTime:
		return histogram.Decode(all.ServiceTime)
	case runnerv1alpha1.MetricTimeToFirstByte:
		return histogram.Decode(all.TimeToFirstByte)
	}
	return nil, fmt.Errorf("metric %q is not known", m)
}

// formatTime returns a time exactly, in the smallest unit of the limit. For example, the unit is s if the limit is
// "1m30s".
func formatTime(us int64, limit string) string {
	for _, unit := range []struct {
		name string
		us   int64
		// digits behind the point that a microsecond may need.
		digits int
	}{{"ns", 0, 0}, {"us", 1, 0}, {"\u00b5s", 1, 0}, {"\u03bcs", 1, 0}, {"ms", 1000, 3}, {"s", 1_000_000, 6}} {
		if !strings.HasSuffix(limit, unit.name) {
			continue
		}
		switch unit.us {
		case 0:
			return strconv.FormatInt(us, 10) + "000ns"
		case 1:
			return strconv.FormatInt(us, 10) + "us"
		}
		out := fmt.Sprintf("%d.%0*d", us/unit.us, unit.digits, us%unit.us)
		return strings.TrimRight(strings.TrimRight(out, "0"), ".") + unit.name
	}
	return (time.Duration(us) * time.Microsecond).String()
}
