package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	runnerv1alpha1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/report/build"
)

// comparison is one threshold with the observed value.
type comparison struct {
	result runnerv1alpha1.ThresholdResult
	// limit is the text of the maximum or minimum.
	limit     string
	isMinimum bool
	// unanswered is true if the observed percentile is among requests without a response.
	unanswered bool
	// above is by how much the observed value is above its maximum or below its minimum. Times are in microseconds.
	above float64
	// drops is the fewest dropped requests without which a maximum that failed would have held; 0: it would not have.
	drops int64
	// dropped is how many requests were dropped of those that a maximum that failed is on.
	dropped int64
}

func compare(plan *runnerv1alpha1.Plan, report *runnerv1alpha1.Report, facts *Facts) ([]comparison, error) {
	_, of := plan.Selections()
	out := make([]comparison, 0, len(plan.Thresholds))
	for i := range plan.Thresholds {
		t := &plan.Thresholds[i]
		c, err := begin(t)
		if err == nil {
			if o, ok := facts.Seen[t.Name]; ok {
				c.saw(o)
				out = append(out, c)
				continue
			}
			k := of[i]
			if t.Of == (runnerv1alpha1.Selector{}) && t.Metric.OfTargets() < 0 && !t.Metric.OfListeners() {
				k = -1 // the report has the distribution of the run
			}
			var f build.Figures
			if f, err = build.FiguresOf(report, k); err == nil {
				if facts.Running {
					f.LeaveOutInFlight()
				}
				err = c.compare(t, &f, report.Observations, figuresOf(plan, t))
				// While the test runs, a threshold without a value has not failed: its figures can still come.
				c.result.Passed = c.result.Passed || facts.Running && c.result.Observed == runnerv1alpha1.ObservedNone
			}
		}
		if err != nil {
			return nil, fmt.Errorf("threshold %s: %w", t.Name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// saw sets what was observed while the test ran.
func (c *comparison) saw(o Observation) {
	c.result.Observed, c.result.Passed = o.Observed, o.Passed
	c.unanswered, c.above, c.drops, c.dropped = o.Unanswered, o.Above, o.Drops, o.Dropped
}

// seen returns what was observed.
func (c *comparison) seen(after time.Duration) Observation {
	return Observation{Observed: c.result.Observed, Passed: c.result.Passed, After: after, Unanswered: c.unanswered,
		Above: c.above, Drops: c.drops, Dropped: c.dropped}
}

// begin returns the comparison of a threshold without the observed value.
func begin(t *runnerv1alpha1.Threshold) (comparison, error) {
	out := comparison{limit: t.Max + t.Min, isMinimum: t.Max == ""}
	if (t.Max == "") == (t.Min == "") {
		return out, errors.New("exactly one of max and min is needed")
	}
	out.result = runnerv1alpha1.ThresholdResult{Name: t.Name, Metric: t.Metric, Percentile: t.Percentile,
		Observation: t.Observation, PerUnit: t.PerUnit, Of: t.Of, Limit: "<= " + t.Max}
	if t.Window > 0 {
		out.result.Window = formatWindow(t.Window)
	}
	if out.isMinimum {
		out.result.Limit = ">= " + t.Min
	}
	return out, nil
}

// formatWindow writes 30s, and 1m instead of 1m0s.
func formatWindow(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// compare compares figures with the limit. of returns those of a series of an observation in the same period.
func (c *comparison) compare(t *runnerv1alpha1.Threshold, f *build.Figures, all []runnerv1alpha1.ObservationResult,
	of seriesFigures) error {
	switch {
	case t.Metric == runnerv1alpha1.MetricObserved:
		return c.observed(f, all, of)
	case t.Metric.IsErrorRate():
		return c.errorRate(f)
	case t.Metric == runnerv1alpha1.MetricRate:
		return c.rate(f)
	case t.Metric.IsTime():
		return c.time(f)
	}
	return c.count(f)
}

func (c *comparison) errorRate(f *build.Figures) error {
	limit, err := runnerv1alpha1.ParsePercentage(c.limit)
	if err != nil {
		return fmt.Errorf("limit %w", err)
	}
	if f.All() == 0 {
		c.result.Observed = runnerv1alpha1.ObservedNone
		return nil
	}
	c.number(f.ErrorRate(), limit, runnerv1alpha1.FormatPercentage)
	return c.findDrops(f, limit)
}

func (c *comparison) rate(f *build.Figures) error {
	limit, err := parseNumber(c.limit)
	if err != nil {
		return err
	}
	if f.Seconds <= 0 {
		c.result.Observed = runnerv1alpha1.ObservedNone
		return nil
	}
	c.number(f.Rate, limit, formatNumber)
	return nil
}

func parseNumber(text string) (float64, error) {
	limit, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) {
		return 0, fmt.Errorf("limit %q is not a number", text)
	}
	return limit, nil
}

// count compares a count, its share of the requests, or its number in a second: the form of the limit decides.
func (c *comparison) count(f *build.Figures) error {
	n, all, ok := f.Count(c.result.Metric)
	if !ok {
		return fmt.Errorf("metric %q is not known", c.result.Metric)
	}
	if strings.HasSuffix(c.limit, "%") {
		limit, err := runnerv1alpha1.ParsePercentage(c.limit)
		switch {
		case err != nil:
			return fmt.Errorf("limit %w", err)
		case all == 0:
			c.result.Observed = runnerv1alpha1.ObservedNone
		default:
			c.number(float64(n)/float64(all), limit, runnerv1alpha1.FormatPercentage)
		}
		return nil
	}
	text, perSecond := strings.CutSuffix(c.limit, "/s")
	limit, err := parseNumber(text)
	switch {
	case err != nil:
		return err
	case !perSecond:
		c.number(float64(n), limit, formatNumber)
	case f.Seconds <= 0:
		c.result.Observed = runnerv1alpha1.ObservedNone
	default:
		c.number(float64(n)/f.Seconds, limit,
			func(v float64, digits int) string { return formatNumber(v, digits) + "/s" })
	}
	return nil
}

// significant is the number of digits of an observed value, if they show on which side of the limit it is.
const significant = 6

// number compares, and writes the observed value with significant digits, or with all of them if rounding would
// move the value to the other side of its limit.
func (c *comparison) number(observed, limit float64, format func(v float64, digits int) string) {
	c.above, c.result.Passed = c.beyond(observed, limit), c.accepts(observed, limit)
	digits := significant
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(observed, 'g', digits, 64), 64)
	if err != nil || c.accepts(rounded, limit) != c.result.Passed {
		digits = -1
	}
	c.result.Observed = format(observed, digits)
}

func (c *comparison) accepts(observed, limit float64) bool { return c.beyond(observed, limit) <= 0 }

// beyond returns by how much a value is above a maximum or below a minimum.
func (c *comparison) beyond(observed, limit float64) float64 {
	if c.isMinimum {
		return limit - observed
	}
	return observed - limit
}

// formatNumber writes a number with that many significant digits, or with all of them if digits is negative.
func formatNumber(v float64, digits int) string {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64); err == nil {
		v = rounded
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (c *comparison) time(f *build.Figures) error {
	limit, err := time.ParseDuration(c.limit)
	if err != nil {
		return fmt.Errorf("limit %q is not a duration", c.limit)
	}
	q, err := runnerv1alpha1.ParsePercentile(c.result.Percentile)
	if err != nil {
		return err
	}
	h, err := f.Time(c.result.Metric)
	if err != nil {
		return err
	}
	if h.Count()+h.Unanswered() <= f.Earlier {
		c.result.Observed = runnerv1alpha1.ObservedNone
		return nil
	}
	observed := h.QuantileWithout(q, f.Earlier)
	// Observed times are whole microseconds. A limit of 1500ns accepts 1us and not 2us.
	us := float64(limit) / float64(time.Microsecond)
	if _, is := runnerv1alpha1.LimitOf(observed); is {
		// A request without a response is longer than every maximum.
		c.unanswered = true
		c.result.Passed, c.result.Observed = c.isMinimum, build.FormatTime(observed)
		return c.findDrops(f, us)
	}
	c.above, c.result.Passed = c.beyond(float64(observed), us), c.accepts(float64(observed), us)
	c.result.Observed = formatTime(observed, limit)
	return nil
}

// formatTime returns a time as the report writes its figures, with three digits, and exactly if three digits hide on
// which side of the limit it is: "20.001ms" for a limit of 20ms.
func formatTime(us int64, limit time.Duration) string {
	exact, short := time.Duration(us)*time.Microsecond, build.FormatTime(us)
	if rounded, err := time.ParseDuration(short); err != nil ||
		cmp.Compare(rounded, limit) != cmp.Compare(exact, limit) {
		return exact.String()
	}
	return short
}
