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

// comparison is one threshold beside what was observed.
type comparison struct {
	result    runnerv1alpha1.ThresholdResult
	isMinimum bool
}

// said is "fast: responseTime at 0.99 is 31.2ms, want <= 20ms".
func (c *comparison) said() string {
	r := &c.result
	what := string(r.Metric)
	if r.Quantile != "" {
		what += " at " + r.Quantile
	}
	return fmt.Sprintf("%s: %s is %s, want %s", r.Name, what, r.Observed, r.Limit)
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
	out := comparison{isMinimum: t.Max == ""}
	if (t.Max == "") == (t.Min == "") {
		return out, errors.New("exactly one of max and min is needed")
	}
	out.result = runnerv1alpha1.ThresholdResult{Name: t.Name, Metric: t.Metric, Quantile: t.Quantile, Limit: "<= " + t.Max}
	if out.isMinimum {
		out.result.Limit = ">= " + t.Min
	}
	var err error
	switch t.Metric {
	case runnerv1alpha1.MetricErrorRatio:
		err = out.number(t, report.ErrorRatio, report.Requests.Sent+report.Requests.Dropped > 0)
	case runnerv1alpha1.MetricRate:
		err = out.number(t, report.Rate.Achieved, report.Rate.WindowSeconds > 0)
	default:
		err = out.time(t, report)
	}
	return out, err
}

// none is the observed value where nothing was measured; no limit holds for it.
const none = "none"

func (c *comparison) number(t *runnerv1alpha1.Threshold, observed float64, known bool) error {
	limit, err := strconv.ParseFloat(t.Max+t.Min, 64)
	if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) {
		return fmt.Errorf("limit %q is not a decimal", t.Max+t.Min)
	}
	if !known {
		c.result.Observed = none
		return nil
	}
	c.result.Passed = c.holds(observed, limit)
	c.result.Observed = c.formatNumber(observed, limit)
	return nil
}

func (c *comparison) holds(observed, limit float64) bool {
	if c.isMinimum {
		return observed >= limit
	}
	return observed <= limit
}

// formatNumber writes six significant digits, or all when rounding would move the value to the
// other side of its limit.
func (c *comparison) formatNumber(observed, limit float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(observed, 'g', 6, 64), 64)
	if err != nil || c.holds(rounded, limit) != c.result.Passed {
		rounded = observed
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

func (c *comparison) time(t *runnerv1alpha1.Threshold, report *runnerv1alpha1.Report) error {
	limit, err := time.ParseDuration(t.Max + t.Min)
	if err != nil {
		return fmt.Errorf("limit %q is not a duration", t.Max+t.Min)
	}
	q, err := strconv.ParseFloat(t.Quantile, 64)
	if err != nil || !(q > 0 && q <= 1) {
		return fmt.Errorf("quantile %q is not above 0 and at most 1", t.Quantile)
	}
	h, err := distribution(t.Metric, report)
	if err != nil {
		return err
	}
	if h.Count() == 0 {
		c.result.Observed = none
		return nil
	}
	observed := h.Quantile(q)
	// Times are whole microseconds: a limit between two of them holds for the smaller.
	c.result.Passed = c.holds(float64(observed), float64(limit)/float64(time.Microsecond))
	c.result.Observed = formatTime(observed, t.Max+t.Min)
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

// formatTime writes microseconds exactly, in the smallest unit of the limit: beside "1m30s" that is
// s.
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
